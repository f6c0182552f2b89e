#ifndef HEADGATE_CPIPE_SHIM_H
#define HEADGATE_CPIPE_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// Not imported by Swift: splice is a GNU extension.

/// Moves at most `most` bytes from a pipe to an offset of a file, without waiting for more. Bytes that were not written
/// stay in the pipe. Returns -1 and sets errno if nothing was moved.
static inline long cpipe_move(int pipe, int file, int64_t offset, size_t most) {
    return syscall(SYS_splice, pipe, NULL, file, &offset, most, 2u /* SPLICE_F_NONBLOCK */);
}

// Not imported by Swift: tee and F_SETPIPE_SZ are GNU extensions.

/// Copies at most `most` bytes from a pipe to another pipe, without waiting for more. The bytes stay in the first pipe.
/// Returns -1 and sets errno if nothing was copied.
static inline long cpipe_copy(int pipe, int other, size_t most) {
    return syscall(SYS_tee, pipe, other, most, 2u /* SPLICE_F_NONBLOCK */);
}

/// Sets the size of a pipe. The size does not change if the system does not allow it.
static inline void cpipe_set_size(int pipe, int size) { (void)fcntl(pipe, 1031 /* F_SETPIPE_SZ */, size); }

// Not imported by Swift: SEEK_DATA and SEEK_HOLE are GNU extensions.

/// Returns the offset of the first data at or after an offset. Returns -1 if there is none or the file system does not
/// know.
static inline int64_t cpipe_seek_data(int file, int64_t offset) { return lseek(file, offset, 3 /* SEEK_DATA */); }

/// Seeks the first hole of a file. Depending on the file system, no write can happen during the call.
static inline void cpipe_seek_hole(int file) { (void)lseek(file, 0, 4 /* SEEK_HOLE */); }

// Not imported by Swift: statx is a GNU extension. Its structure is a part of the kernel's stable interface.

/// Returns the creation time of a file, in nanoseconds since 1970. Returns 0 if the file system does not record it.
static inline int64_t cpipe_birth(int file) {
    unsigned char found[256] = {0};
    if (syscall(SYS_statx, file, "", 0x1000 /* AT_EMPTY_PATH */, 0x800u /* STATX_BTIME */, found) < 0) return 0;
    uint32_t mask, nanoseconds;
    int64_t seconds;
    memcpy(&mask, found, sizeof mask);
    memcpy(&seconds, found + 80, sizeof seconds);
    memcpy(&nanoseconds, found + 88, sizeof nanoseconds);
    return mask & 0x800u ? seconds * 1000000000 + nanoseconds : 0;
}

/// Maps the first page of a file that is not empty, and locks it in memory. The kernel drops the page only when the
/// file is truncated. The caller must not read the page, because it may be gone at any time. Returns NULL if the page
/// cannot be locked.
static inline void *cpipe_hold_page(int file) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) return NULL;
    if (mlock(page, size) == 0) return page;
    (void)munmap(page, size);
    return NULL;
}

static inline void cpipe_release_page(void *page) { (void)munmap(page, (size_t)sysconf(_SC_PAGESIZE)); }

/// Returns 1 if the kernel has dropped a held page, 0 if the page is there, and -1 if the kernel does not say.
static inline int cpipe_is_page_gone(void *page) {
    uint64_t entry;
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (map < 0) return -1;
    off_t place = (off_t)((uintptr_t)page / (uintptr_t)sysconf(_SC_PAGESIZE)) * (off_t)sizeof entry;
    ssize_t length = pread(map, &entry, sizeof entry, place);
    (void)close(map);
    // Bit 63 means that the page is in memory, and bit 62 that it is swapped or being moved.
    return length != sizeof entry ? -1 : (entry >> 62) == 0;
}

/// Returns 1 if only this machine's kernel sets the times of a file. A file server may change them later.
static inline int cpipe_has_local_times(int file) {
    struct statfs found;
    if (fstatfs(file, &found) < 0) return 0;
    switch ((uint32_t)found.f_type) {
    case 0x6969u:      // NFS
    case 0xFF534D42u:  // CIFS
    case 0xFE534D42u:  // SMB2
    case 0x01021997u:  // 9P
    case 0x00C36400u:  // Ceph
    case 0x65735546u:  // FUSE
        return 0;
    default: return 1;
    }
}

#endif
