#ifndef HEADGATE_CDISK_SHIM_H
#define HEADGATE_CDISK_SHIM_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

// Hidden from Swift: extensions of GNU.

/// Has the system begin to write a range of a file to the disk, without waiting for it.
static inline long cdisk_write_out(int file, int64_t offset, int64_t count) {
    return syscall(SYS_sync_file_range, file, offset, count, 2u /* SYNC_FILE_RANGE_WRITE */);
}

/// Opens an open file once more, so that what is written goes past the page cache; minus one and errno where that cannot be.
static inline int cdisk_reopen_direct(int file) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, O_RDWR | O_CLOEXEC | __O_DIRECT);
}

#endif
