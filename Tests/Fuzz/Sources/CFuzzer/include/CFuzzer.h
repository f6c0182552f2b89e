#pragma once

#include <stddef.h>
#include <stdint.h>

/// libFuzzer's driver: calls `one_input` with ever other bytes, until it crashes or the options say stop.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*one_input)(const uint8_t *data, size_t size));

/// Has libFuzzer watch the whole program for what is new, and learn from what is compared. Either this or `fuzzer_watch_reached` is called once, before the
/// driver.
/// \return the number of edges that are watched.
size_t fuzzer_watch_all(void);

/// Has libFuzzer watch what has run by now, and about as many edges as `beside` on either side of it. What lies elsewhere is
/// tried as well, but that something there is new is not seen, nor what is compared.
/// \return the number of edges that are watched.
size_t fuzzer_watch_reached(size_t beside);
