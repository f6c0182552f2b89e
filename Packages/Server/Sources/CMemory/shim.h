#ifndef HEADGATE_CMEMORY_SHIM_H
#define HEADGATE_CMEMORY_SHIM_H

#include <malloc.h>
#include <stdbool.h>

// Hidden from Swift: an extension of GNU.

/// Has all threads take their memory from one place. What a thread has taken before stays where it is; false where that cannot be.
static inline bool cmemory_use_one_arena(void) {
    return mallopt(M_ARENA_MAX, 1) == 1;
}

/// Has pieces of so many bytes and more mapped one by one, and given back to the system at once; left to itself it takes ever larger ones from
/// the heap, where smaller ones soon lie behind them. What is free at the end of the heap goes back when it is four times as much:
/// less is soon taken again, and with groups of a megabyte that costs processor time (Tools/parts/bench/README.md).
static inline bool cmemory_map_from(int bytes) {
    return mallopt(M_MMAP_THRESHOLD, bytes) == 1 && mallopt(M_TRIM_THRESHOLD, 4 * bytes) == 1;
}

#endif
