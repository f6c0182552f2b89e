#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "CProbe.h"

pid_t hg_probe_listener(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    struct ucred credentials = {.pid = -1};
    socklen_t size = sizeof credentials;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        credentials.pid = -1;
    close(descriptor);
    return credentials.pid;
}

int hg_probe_clock(void) {
    struct timex state = {0};
    return adjtimex(&state) < 0 ? -1 : (state.status & STA_UNSYNC) == 0;
}

int hg_probe_find_disk(const char *directory, struct hg_probe_disk *disk) {
    struct statvfs state;
    struct statfs kind;
    if (statvfs(directory, &state) != 0 || statfs(directory, &kind) != 0) return 0;
    *disk = (struct hg_probe_disk){
        .free_bytes = (int64_t)state.f_bavail * (int64_t)state.f_frsize,
        .total_bytes = (int64_t)state.f_blocks * (int64_t)state.f_frsize,
        // A file system that creates inodes on demand reports 0 files.
        .free_files = state.f_files == 0 ? INT64_MAX : (int64_t)state.f_favail,
        .kind = (int64_t)kind.f_type,
        .is_read_only = (state.f_flag & ST_RDONLY) != 0,
    };
    return 1;
}
