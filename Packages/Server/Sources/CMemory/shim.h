#ifndef HEADGATE_CMEMORY_SHIM_H
#define HEADGATE_CMEMORY_SHIM_H

#include <malloc.h>
#include <stdbool.h>

// Hidden from Swift: an extension of GNU.

/// Has all threads take their memory from one place. What a thread has taken before stays where it is; false where that cannot be.
static inline bool cmemory_use_one_arena(void) {
    return mallopt(M_ARENA_MAX, 1) == 1;
}

#endif
