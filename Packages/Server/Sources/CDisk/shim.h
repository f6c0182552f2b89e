#ifndef HEADGATE_CDISK_SHIM_H
#define HEADGATE_CDISK_SHIM_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// Hidden from Swift: sync_file_range is an extension of GNU.

/// Has the system begin to write a range of a file to the disk, without waiting for it.
static inline long cdisk_write_out(int file, int64_t offset, int64_t count) {
    return syscall(SYS_sync_file_range, file, offset, count, 2u /* SYNC_FILE_RANGE_WRITE */);
}

#endif
