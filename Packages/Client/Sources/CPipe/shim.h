#ifndef HEADGATE_CPIPE_SHIM_H
#define HEADGATE_CPIPE_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// Hidden from Swift: splice is an extension of GNU.

/// Moves up to `most` bytes that are in a pipe to `offset` of a file, without waiting for more. What was not written
/// is still in the pipe. Minus one and errno when nothing was moved.
static inline long cpipe_move(int pipe, int file, int64_t offset, size_t most) {
    return syscall(SYS_splice, pipe, NULL, file, &offset, most, 2u /* SPLICE_F_NONBLOCK */);
}

#endif
