#pragma once

#include <stddef.h>
#include <stdint.h>

/// libFuzzer's driver: calls `one_input` with ever other bytes, until it crashes or the options say stop.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*one_input)(const uint8_t *data, size_t size));
