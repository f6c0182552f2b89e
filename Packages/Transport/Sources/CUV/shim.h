#ifndef HEADGATE_CUV_SHIM_H
#define HEADGATE_CUV_SHIM_H

#include <uv.h>

#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// Hidden from Swift: accept4 and memfd_create are extensions of GNU, prctl takes variable arguments.

/// Takes one connection, non-blocking and closed on exec. Minus one and errno when there is none.
static inline int cuv_accept(int listening) {
    return (int)syscall(SYS_accept4, listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/// A file in memory only, closed on exec. Minus one and errno when there is none to be had.
static inline int cuv_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);
}

/// Names the calling thread; more than 15 bytes are cut.
static inline void cuv_name_thread(const char *name) {
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
}

#endif
