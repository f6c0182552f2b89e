/* Loaded before the C library (LD_PRELOAD), it stops whoever writes the store's log, for good, at a place of the
 * test's choice within a commit: what was acknowledged by then must be there when the daemon is killed and started again.
 *
 * HEADGATE_FREEZE names a file. Once that is there, the thread stops before the write or sync whose number it holds,
 * counted from then on. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local long left = -1;

static int is_log(int descriptor) {
    char link[64] = "/proc/self/fd/", path[4096], digits[16];
    int count = 0;
    for (int rest = descriptor; rest > 0 || count == 0; rest /= 10) digits[count++] = (char)('0' + rest % 10);
    size_t end = strlen(link);
    while (count > 0) link[end++] = digits[--count];
    link[end] = 0;
    ssize_t length = readlink(link, path, sizeof path);
    return length > 4 && (memcmp(path + length - 4, "-wal", 4) == 0 || memcmp(path + length - 4, ".log", 4) == 0);
}

/* How many writes are to go; -1: there is no such file. */
static long told(void) {
    char text[16] = "";
    const char *path = getenv("HEADGATE_FREEZE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length > 0 ? atol(text) : -1;
}

static void freeze_if_told(int descriptor) {
    if (!is_log(descriptor)) return;
    if (left < 0) left = told();
    if (left < 0) return;
    while (left == 0) pause();
    left -= 1;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t place) {
    freeze_if_told(descriptor);
    return syscall(SYS_pwrite64, descriptor, bytes, count, place);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t place) {
    freeze_if_told(descriptor);
    return syscall(SYS_pwrite64, descriptor, bytes, count, place);
}

int fdatasync(int descriptor) {
    freeze_if_told(descriptor);
    return (int)syscall(SYS_fdatasync, descriptor);
}
