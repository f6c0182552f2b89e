#ifndef HEADGATE_CUV_SHIM_H
#define HEADGATE_CUV_SHIM_H

#include <uv.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// These functions are not visible in Swift: accept4 and memfd_create are GNU extensions, and prctl has variable
// arguments.

/// Accepts a connection, non-blocking and with close-on-exec. Returns -1 with errno if there is none.
static inline int cuv_accept(int listening) {
    return (int)syscall(SYS_accept4, listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/// Creates a file in memory, with close-on-exec. Returns -1 with errno on failure.
static inline int cuv_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);
}

/// Names the calling thread. A name of more than 15 bytes is truncated.
static inline void cuv_name_thread(const char *name) {
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
}

// The rest of this file starts a program. libuv's uv_spawn cannot make the kernel signal the program when this process
// dies.

/// Runs in the new process: executes the program, or returns with errno. It calls only functions that are safe between
/// fork and exec.
static inline void cuv_become(char **words, char **variables, int input, int output, int death_signal, pid_t parent) {
    // Declared here, because Swift has its own declaration from the C library.
    extern char **environ;
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, death_signal) < 0) return;
    // The parent may have ended before the kernel registered the signal.
    if (getppid() != parent) _exit(127);
    if (dup2(input, STDIN_FILENO) < 0) return;
    if (input == STDIN_FILENO && fcntl(STDIN_FILENO, F_SETFD, 0) < 0) return;
    if (output != STDOUT_FILENO && dup2(output, STDOUT_FILENO) < 0) return;
    // Libraries open descriptors that would stay open in the program, like libcurl's sockets. 4: CLOSE_RANGE_CLOEXEC.
    (void)syscall(SYS_close_range, 3, ~0U, 4);
    for (int number = 1; number < NSIG; number++) (void)signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0) return;
    environ = variables;
    execvp(words[0], words);
}

/// Starts a program in its own session, with `input` and `output` as its standard input and output, and no signal blocked
/// or ignored. The program gets `death_signal` when the calling thread ends. Returns its process id, or a negated errno if it cannot be
/// started.
static inline pid_t cuv_spawn(char **words, char **variables, int input, int output, int death_signal) {
    int report[2];
    if (syscall(SYS_pipe2, report, O_CLOEXEC) < 0) return -errno;
    sigset_t all, before;
    sigfillset(&all);
    // A signal handler of this process must not run in the new one.
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        cuv_become(words, variables, input, output, death_signal, parent);
        int code = errno;
        (void)!write(report[1], &code, sizeof code);
        _exit(127);
    }
    int code = child < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    ssize_t length = 0;
    // The pipe is closed without data when the program has been executed.
    if (child > 0) do length = read(report[0], &code, sizeof code); while (length < 0 && errno == EINTR);
    close(report[0]);
    if (child > 0 && length <= 0) return child;
    if (child > 0) while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    return -code;
}

#endif
