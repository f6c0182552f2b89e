/* A library for LD_PRELOAD that keeps a journal of all changes to the files of one directory: writes, truncations, new names,
 * renames, removals and syncs, in order. disk.py derives the contents after a power failure from the journal.
 *
 * An asynchronous sync (io_submit) counts once its end is reported to the daemon. Only these syncs are really carried out.
 *
 * HEADGATE_DISK is the real path of the directory, and HEADGATE_JOURNAL the path of the journal, which a restarted daemon
 * continues. Other syncs are not carried out, so that the machine's disk has no influence. A sync takes HEADGATE_SYNC_US
 * microseconds. A test kills the daemon only while it holds the lock of the journal, so that the daemon is never killed
 * between a change and its record. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { CREATE, WRITE, RESIZE, RENAME, UNLINK, SYNC };

/* The header of a record, in the machine's byte order. The given number of bytes follows. */
struct record {
    uint32_t kind, length;
    uint64_t inode;
    /* The offset of a write, the new size of a file, or the length of the journal when a sync began. */
    uint64_t place;
};

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static const char *directory;
static size_t directory_length;
static int journal;
static uint64_t journal_length;
static unsigned sync_microseconds;

__attribute__((constructor)) static void begin(void) {
    directory = getenv("HEADGATE_DISK");
    directory_length = strlen(directory);
    sync_microseconds = (unsigned)atol(getenv("HEADGATE_SYNC_US"));
    journal = open(getenv("HEADGATE_JOURNAL"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    journal_length = (uint64_t)lseek(journal, 0, SEEK_END);
}

/* Locks the journal: until the unlock only the caller changes the files, and records the change. */
static void take_turn(void) {
    pthread_mutex_lock(&order);
    flock(journal, LOCK_EX);
}

static void end_turn(void) {
    flock(journal, LOCK_UN);
    pthread_mutex_unlock(&order);
}

/* Appends a record. The caller holds the lock, so that records are in the order of the changes. */
static void note(enum kind kind, uint64_t inode, uint64_t place, const void *bytes, size_t length) {
    struct record record = {kind, (uint32_t)length, inode, place};
    struct iovec parts[] = {{&record, sizeof record}, {(void *)bytes, length}};
    if (writev(journal, parts, 2) != (ssize_t)(sizeof record + length)) abort();
    journal_length += sizeof record + length;
}

/* Returns the name of a path in the directory, "" for the directory itself, or NULL for any other path. */
static const char *name_of(const char *path) {
    if (strncmp(path, directory, directory_length) != 0) return NULL;
    if (path[directory_length] == 0) return path + directory_length;
    return path[directory_length] == '/' ? path + directory_length + 1 : NULL;
}

/* Returns the inode of an open file in the directory, or of the directory itself, or 0 for any other file. */
static uint64_t inode_of(int descriptor) {
    char link[64] = "/proc/self/fd/", path[4096] = "", digits[16];
    int count = 0;
    for (int rest = descriptor; rest > 0 || count == 0; rest /= 10) digits[count++] = (char)('0' + rest % 10);
    size_t end = strlen(link);
    while (count > 0) link[end++] = digits[--count];
    link[end] = 0;
    struct stat status;
    if (readlink(link, path, sizeof path - 1) < 0 || !name_of(path) || fstat(descriptor, &status) != 0) return 0;
    return status.st_ino;
}

static int open_noting(const char *path, int flags, mode_t mode) {
    const char *name = name_of(path);
    if (!name || !(flags & (O_CREAT | O_TRUNC))) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    take_turn();
    int is_new = access(path, F_OK) != 0;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    struct stat status;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
        if (is_new) note(CREATE, status.st_ino, 0, name, strlen(name));
        if (!is_new && flags & O_TRUNC) note(RESIZE, status.st_ino, 0, NULL, 0);
    }
    end_turn();
    return descriptor;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & O_CREAT) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return open_noting(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags)
    return open_noting(path, flags, mode);
}

static ssize_t pwrite_noting(int descriptor, const void *bytes, size_t count, off_t place) {
    uint64_t inode = inode_of(descriptor);
    if (inode == 0) return syscall(SYS_pwrite64, descriptor, bytes, count, place);
    take_turn();
    ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, count, place);
    if (written > 0) note(WRITE, inode, (uint64_t)place, bytes, (size_t)written);
    end_turn();
    return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t place) {
    return pwrite_noting(descriptor, bytes, count, place);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t place) {
    return pwrite_noting(descriptor, bytes, count, place);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    uint64_t inode = inode_of(descriptor);
    if (inode == 0) return syscall(SYS_write, descriptor, bytes, count);
    take_turn();
    ssize_t written = syscall(SYS_write, descriptor, bytes, count);
    /* The file offset after the write is its end, even if the file was opened for appending. */
    off_t end = lseek(descriptor, 0, SEEK_CUR);
    if (written > 0) note(WRITE, inode, (uint64_t)(end - written), bytes, (size_t)written);
    end_turn();
    return written;
}

static int resize_noting(int descriptor, off_t size) {
    uint64_t inode = inode_of(descriptor);
    take_turn();
    int answer = (int)syscall(SYS_ftruncate, descriptor, size);
    if (answer == 0 && inode != 0) note(RESIZE, inode, (uint64_t)size, NULL, 0);
    end_turn();
    return answer;
}

int ftruncate(int descriptor, off_t size) {
    return resize_noting(descriptor, size);
}

int ftruncate64(int descriptor, off64_t size) {
    return resize_noting(descriptor, size);
}

int rename(const char *old_path, const char *new_path) {
    const char *old_name = name_of(old_path), *new_name = name_of(new_path);
    take_turn();
    int answer = (int)syscall(SYS_renameat2, AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
    if (answer == 0 && old_name && new_name) {
        char names[8192];
        size_t middle = strlen(old_name) + 1, length = middle + strlen(new_name);
        if (length > sizeof names) abort();
        memcpy(names, old_name, middle);
        memcpy(names + middle, new_name, length - middle);
        note(RENAME, 0, 0, names, length);
    }
    end_turn();
    return answer;
}

int unlink(const char *path) {
    const char *name = name_of(path);
    take_turn();
    int answer = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (answer == 0 && name) note(UNLINK, 0, 0, name, strlen(name));
    end_turn();
    return answer;
}

static int sync_noting(int descriptor, long call) {
    uint64_t inode = inode_of(descriptor);
    if (inode == 0) return (int)syscall(call, descriptor);
    take_turn();
    uint64_t through = journal_length;
    end_turn();
    usleep(sync_microseconds);
    take_turn();
    note(SYNC, inode, through, NULL, 0);
    end_turn();
    return 0;
}

int fsync(int descriptor) {
    return sync_noting(descriptor, SYS_fsync);
}

int fdatasync(int descriptor) {
    return sync_noting(descriptor, SYS_fdatasync);
}

static int allocate_noting(int descriptor, off_t offset, off_t length) {
    static int (*allocate)(int, off_t, off_t);
    if (!allocate) allocate = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
    uint64_t inode = inode_of(descriptor);
    take_turn();
    struct stat status;
    int answer = fstat(descriptor, &status) == 0 ? allocate(descriptor, offset, length) : EIO;
    if (answer == 0 && inode != 0 && offset + length > status.st_size) note(RESIZE, inode, (uint64_t)(offset + length), NULL, 0);
    end_turn();
    return answer;
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
    return allocate_noting(descriptor, offset, length);
}

int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
    return allocate_noting(descriptor, offset, length);
}

/* The asynchronous sync in progress, of which there is only one: its file, and the length of the journal at its start. */
static struct {
    uint64_t inode, through;
} begun;

static void note_begin(const struct iocb *sync) {
    if (begun.inode != 0) abort();
    begun.inode = inode_of((int)sync->aio_fildes);
    begun.through = journal_length;
}

static void note_end(int64_t result) {
    if (result == 0 && begun.inode != 0) note(SYNC, begun.inode, begun.through, NULL, 0);
    begun.inode = 0;
}

/* System calls without a wrapper function, including io_submit and io_getevents, pass through syscall(). */
long syscall(long number, ...) {
    static long (*next)(long, ...);
    if (!next) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long words[6];
    va_list list;
    va_start(list, number);
    for (int place = 0; place < 6; place++) words[place] = va_arg(list, long);
    va_end(list);
    int is_sync = number == SYS_io_submit && (*(struct iocb **)words[2])->aio_lio_opcode == IOCB_CMD_FDSYNC;
    if (is_sync) take_turn();
    long answer = next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    if (is_sync && answer == 1) note_begin(*(struct iocb **)words[2]);
    if (is_sync) end_turn();
    if (number == SYS_io_getevents && answer == 1) {
        take_turn();
        note_end(((struct io_event *)words[3])->res);
        end_turn();
    }
    return answer;
}
