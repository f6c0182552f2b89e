#ifndef HEADGATE_CDISK_SHIM_H
#define HEADGATE_CDISK_SHIM_H

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// What Swift does not see of the C library: GNU extensions, and system calls without a function.

/// The numbers that identify a file on this machine, and its size in bytes.
struct cdisk_identity {
    uint64_t inode, size;
    uint32_t major, minor;
};

/// Reads the identity and the size of an open file, or of the file at a path if the path is not empty. Returns false if
/// there is none.
///
/// Unlike `stat` it does not ask for the times. Since Linux 6.13 a file whose times were read gets new, finer ones with its next
/// write, and to sync that write takes half as long again.
static inline bool cdisk_identify(int file, const char *path, struct cdisk_identity *identity) {
    struct statx found;
    int flags = *path ? 0 : 0x1000 /* AT_EMPTY_PATH */;
    if (syscall(SYS_statx, file, path, flags, STATX_INO | STATX_SIZE, &found) != 0) return false;
    *identity = (struct cdisk_identity){found.stx_ino, found.stx_size, found.stx_dev_major, found.stx_dev_minor};
    return true;
}

/// Starts to write a range of a file to the disk, and does not wait for the end.
static inline long cdisk_write_out(int file, int64_t offset, int64_t count) {
    return syscall(SYS_sync_file_range, file, offset, count, 2u /* SYNC_FILE_RANGE_WRITE */);
}

/// Opens an open file again for writes that bypass the page cache. Returns -1 and sets errno if the file system cannot do that.
static inline int cdisk_reopen_direct(int file) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, O_RDWR | O_CLOEXEC | __O_DIRECT);
}

/// Creates a context for one background sync at a time. Returns -1 and sets errno if the system has no asynchronous I/O.
static inline long cdisk_open_background(uint64_t *background) {
    aio_context_t context = 0;
    long result = syscall(SYS_io_setup, 1, &context);
    *background = context;
    return result;
}

/// Waits for the sync that has not ended, and closes the context.
static inline void cdisk_close_background(uint64_t background) {
    syscall(SYS_io_destroy, (aio_context_t)background);
}

/// Starts to sync a file's bytes and its size. Returns 1 if the sync was started.
static inline long cdisk_begin_sync(uint64_t background, int file) {
    struct iocb sync;
    struct iocb *list = &sync;
    memset(&sync, 0, sizeof sync);
    sync.aio_lio_opcode = IOCB_CMD_FDSYNC;
    sync.aio_fildes = (uint32_t)file;
    return syscall(SYS_io_submit, (aio_context_t)background, 1, &list);
}

/// The header of the ring of finished operations, which the kernel maps at the address of the context.
struct cdisk_ring {
    uint32_t id, count, head, tail, magic, compatible, incompatible, header_length;
};

/// Returns false if no sync has ended. It makes no system call, and may return true although none has ended.
static inline bool cdisk_may_have_ended(uint64_t background) {
    const struct cdisk_ring *ring = (const struct cdisk_ring *)(uintptr_t)background;
    if (ring->magic != 0xa10a10a1 || ring->incompatible != 0) return true;
    return __atomic_load_n(&ring->head, __ATOMIC_RELAXED) != __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
}

/// Waits for the end of the started sync. Returns 1 and sets the result, or returns 0 or a negative errno.
static inline long cdisk_end(uint64_t background, int64_t *result) {
    struct io_event event;
    long count = syscall(SYS_io_getevents, (aio_context_t)background, 1, 1, &event, NULL);
    if (count == 1) *result = event.res;
    return count;
}

#endif
