#include "CFuzzer.h"

// The library that comes with `-sanitize=fuzzer` has a `main` too, which asks for this. The package's own is used.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)data;
    (void)size;
    return -1;
}
