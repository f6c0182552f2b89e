#ifndef HEADGATE_CDISK_SHIM_H
#define HEADGATE_CDISK_SHIM_H

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Hidden from Swift: extensions of GNU, and system calls for which there is no function.

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

/// Opens what syncs are begun in, one at a time; minus one and errno where the system has no such thing.
static inline long cdisk_open_background(uint64_t *background) {
    aio_context_t context = 0;
    long result = syscall(SYS_io_setup, 1, &context);
    *background = context;
    return result;
}

/// Waits for what has not ended.
static inline void cdisk_close_background(uint64_t background) {
    syscall(SYS_io_destroy, (aio_context_t)background);
}

/// Begins to sync a file's bytes, and its size; one is begun where the answer is 1.
static inline long cdisk_begin_sync(uint64_t background, int file) {
    struct iocb sync;
    struct iocb *list = &sync;
    memset(&sync, 0, sizeof sync);
    sync.aio_lio_opcode = IOCB_CMD_FDSYNC;
    sync.aio_fildes = (uint32_t)file;
    return syscall(SYS_io_submit, (aio_context_t)background, 1, &list);
}

/// The head of the ring of what has ended, which the system lets a program read where the context is.
struct cdisk_ring {
    uint32_t id, count, head, tail, magic, compatible, incompatible, header_length;
};

/// Whether something has ended, as far as can be told without asking the system: false only where nothing has.
static inline bool cdisk_may_have_ended(uint64_t background) {
    const struct cdisk_ring *ring = (const struct cdisk_ring *)(uintptr_t)background;
    if (ring->magic != 0xa10a10a1 || ring->incompatible != 0) return true;
    return __atomic_load_n(&ring->head, __ATOMIC_RELAXED) != __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
}

/// Waits for the end of what was begun: 1 and its result, 0 or a negative errno.
static inline long cdisk_end(uint64_t background, int64_t *result) {
    struct io_event event;
    long count = syscall(SYS_io_getevents, (aio_context_t)background, 1, 1, &event, NULL);
    if (count == 1) *result = event.res;
    return count;
}

#endif
