#ifndef HEADGATE_CMEMORY_SHIM_H
#define HEADGATE_CMEMORY_SHIM_H

#include <malloc.h>
#include <stdbool.h>

// Not imported by Swift: a GNU extension.

/// Makes all threads share this many arenas. Memory that a thread has allocated before stays in its place. Returns false
/// if this is not supported.
static inline bool cmemory_share_arenas(int count) {
    return mallopt(M_ARENA_MAX, count) == 1;
}

/// Maps allocations of at least this many bytes one by one, so that they return to the system when they are freed.
/// Without this, glibc takes ever larger ones from the heap, where small ones soon lie behind them. Free memory at the
/// end of the heap returns to the system at four times this size. A lower limit costs processor time, because commit
/// groups of a megabyte soon need the memory again (Tools/parts/bench/README.md).
static inline bool cmemory_map_from(int bytes) {
    return mallopt(M_MMAP_THRESHOLD, bytes) == 1 && mallopt(M_TRIM_THRESHOLD, 4 * bytes) == 1;
}

#endif
