#include "CFuzzer.h"

#include <string.h>

// The library of `-sanitize=fuzzer` also has a `main`, which requires this symbol. The package's own `main` is used.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)data;
    (void)size;
    return -1;
}

// Instrumented code registers its counters, one for each edge, and their meaning before `main`. libFuzzer scans all known
// counters after each execution, which for a whole daemon takes several times as long as most targets. So the linker
// redirects the registration to this file (`--wrap`), which passes on only the requested counters.

void __real___sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __wrap___sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __real___sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop);
void __wrap___sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop);

static uint8_t *counters;
static size_t count;
// Two words for each counter.
static const uintptr_t *places;

void __wrap___sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop) {
    counters = start;
    count = (size_t)(stop - start);
}

void __wrap___sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop) {
    (void)stop;
    places = start;
}

static void watch(size_t first, size_t end) {
    __real___sanitizer_cov_8bit_counters_init(counters + first, counters + end);
    __real___sanitizer_cov_pcs_init(places + 2 * first, places + 2 * end);
}

// Comparisons are reported as well, so that libFuzzer learns which values to write into an input. That costs a third of the
// time, and is unnecessary for inputs derived from the corpus.

static int hears_comparisons = 0;

#define PASS_ON(name, type)                                   \
    void __real_##name(type one, type other);                 \
    void __wrap_##name(type one, type other);                 \
    void __wrap_##name(type one, type other) {                \
        if (hears_comparisons) __real_##name(one, other);     \
    }

PASS_ON(__sanitizer_cov_trace_cmp1, uint8_t)
PASS_ON(__sanitizer_cov_trace_cmp2, uint16_t)
PASS_ON(__sanitizer_cov_trace_cmp4, uint32_t)
PASS_ON(__sanitizer_cov_trace_cmp8, uint64_t)
PASS_ON(__sanitizer_cov_trace_const_cmp1, uint8_t)
PASS_ON(__sanitizer_cov_trace_const_cmp2, uint16_t)
PASS_ON(__sanitizer_cov_trace_const_cmp4, uint32_t)
PASS_ON(__sanitizer_cov_trace_const_cmp8, uint64_t)

size_t fuzzer_watch_all(void) {
    hears_comparisons = 1;
    watch(0, count);
    return count;
}

static int is_reached(size_t first, size_t end) {
    for (size_t place = first; place < end; place++) {
        if (counters[place] != 0) return 1;
    }
    return 0;
}

size_t fuzzer_watch_reached(size_t beside) {
    size_t watched = 0, first = 0, end = 0;
    for (size_t block = 0; block < count; block += beside) {
        size_t next = block + beside < count ? block + beside : count;
        if (!is_reached(block, next)) continue;
        size_t from = block > beside ? block - beside : 0;
        size_t to = next + beside < count ? next + beside : count;
        if (from > end) {
            if (end > first) watch(first, end);
            watched += end - first;
            first = from;
        }
        end = to;
    }
    if (end > first) watch(first, end);
    memset(counters, 0, count);
    return watched + end - first;
}
