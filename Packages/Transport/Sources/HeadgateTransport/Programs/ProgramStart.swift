import Glibc

/// The first step of every program: it makes the process independent of what its parent left behind.
///
/// A parent may close the standard descriptors, block signals, or ignore them; a child inherits all three.
public enum ProgramStart {
    /// Opens `/dev/null` for closed standard descriptors, and sets the signal mask and the dispositions that the program
    /// relies on. Call it before the program opens a file or starts a thread.
    /// - Parameter held: signals that wait until a ``LoopSignal`` follows them.
    public static func prepare(holding held: [Int32] = []) {
        openStandardDescriptors()
        ignoreWriteSignals()
        // While SIGCHLD is ignored the kernel reports no child's end. An ignored signal is not held either.
        for number in [SIGCHLD, SIGTERM] + held { signal(number, SIG_DFL) }
        var mask = sigset_t()
        sigemptyset(&mask)
        for number in held { sigaddset(&mask, number) }
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }

    /// Makes each of the signals end the process with exit code 0, until a ``LoopSignal`` follows it. For signals that ask
    /// a program to stop while it starts, if it has nothing to finish before its loop runs.
    public static func exit(on signals: [Int32]) {
        for number in signals { signal(number) { _ in _exit(0) } }
    }

    /// Makes a write fail where it would otherwise end the process: into a pipe or socket without a reader (`EPIPE` in place
    /// of SIGPIPE), and beyond the limit on file sizes (`EFBIG` in place of SIGXFSZ). A handler that the program has set
    /// itself stays.
    public static func ignoreWriteSignals() {
        for number in [SIGPIPE, SIGXFSZ] {
            let former = signal(number, SIG_IGN)
            // The special handlers (default, ignore, error) are the numbers 0, 1 and -1 in a pointer's place.
            let isHandler = !(-1...1).contains(unsafeBitCast(former, to: Int.self))
            if isHandler { signal(number, former) }
        }
    }

    /// A closed standard descriptor would be given to the next file or socket that the process opens, and the log would be
    /// written into it.
    static func openStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The kernel gives the lowest free descriptor, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
