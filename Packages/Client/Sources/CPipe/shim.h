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

// Hidden from Swift: splice is an extension of GNU.

/// Moves up to `most` bytes that are in a pipe to `offset` of a file, without waiting for more. What was not written
/// is still in the pipe. Minus one and errno when nothing was moved.
static inline long cpipe_move(int pipe, int file, int64_t offset, size_t most) {
    return syscall(SYS_splice, pipe, NULL, file, &offset, most, 2u /* SPLICE_F_NONBLOCK */);
}

// Hidden from Swift: SEEK_DATA and SEEK_HOLE are extensions of GNU.

/// The offset of the first data at an offset or behind it. Minus one if there is none, or the file system does not tell.
static inline int64_t cpipe_seek_data(int file, int64_t offset) { return lseek(file, offset, 3 /* SEEK_DATA */); }

/// Looks for the first hole of a file, which nobody can write to meanwhile.
static inline void cpipe_seek_hole(int file) { (void)lseek(file, 0, 4 /* SEEK_HOLE */); }

// Hidden from Swift: statx is an extension of GNU. Its structure is part of the kernel's interface and never changes.

/// The time at which a file was made, in nanoseconds since 1970. Zero if the file system does not record it.
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

/// Maps the first page of a file that is not empty, and has the kernel keep it in memory. The kernel takes the page away only
/// when the file is emptied. Nobody may read from the page: it may be gone at any time. NULL where that cannot be had.
static inline void *cpipe_hold_page(int file) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) return NULL;
    if (mlock(page, size) == 0) return page;
    (void)munmap(page, size);
    return NULL;
}

static inline void cpipe_release_page(void *page) { (void)munmap(page, (size_t)sysconf(_SC_PAGESIZE)); }

/// 1 if the kernel has taken a held page away, 0 if it is still there, minus one where the kernel does not tell.
static inline int cpipe_is_page_gone(void *page) {
    uint64_t entry;
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (map < 0) return -1;
    off_t place = (off_t)((uintptr_t)page / (uintptr_t)sysconf(_SC_PAGESIZE)) * (off_t)sizeof entry;
    ssize_t length = pread(map, &entry, sizeof entry, place);
    (void)close(map);
    // Bit 63: it is in memory. Bit 62: it is just being moved elsewhere.
    return length != sizeof entry ? -1 : (entry >> 62) == 0;
}

/// True if the kernel of this machine alone sets the times of a file: those of a server may change later.
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
