#pragma once

/// Prints `loadgen: …` on standard error and ends the process with status 1: a run with a fault has no result.
_Noreturn void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
