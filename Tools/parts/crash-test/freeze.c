/* A library for LD_PRELOAD that blocks the thread that writes the store's log forever, at a chosen point within a commit. All
 * acknowledged events must exist after the daemon is killed and started again.
 *
 * HEADGATE_FREEZE is the path of a file with a number N. Once the file exists, the thread blocks before the Nth write or
 * sync from then on. */
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

/* The number of writes left until the thread blocks, or -1 if the file does not exist. */
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
