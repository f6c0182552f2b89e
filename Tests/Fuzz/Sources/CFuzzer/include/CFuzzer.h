#pragma once

#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer's driver: calls `one_input` with new inputs until it crashes or a limit of the options is reached.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*one_input)(const uint8_t *data, size_t size));

/// Makes libFuzzer observe the coverage and the comparisons of the whole program. Either this or `fuzzer_watch_reached` is
/// called once, before the driver.
/// \return the number of edges that are watched.
size_t fuzzer_watch_all(void);

/// Makes libFuzzer observe only the edges that have run so far, and about `beside` edges on either side of them. Other code
/// runs as well, but its coverage and its comparisons are not observed.
/// \return the number of edges that are watched.
size_t fuzzer_watch_reached(size_t beside);
