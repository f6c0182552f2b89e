import Glibc

/// The signal mask, the signal dispositions and the standard descriptors of the process. A program inherits all three from
/// its parent, which may have blocked or ignored any signal and closed any descriptor.
public enum ProcessSignals {
    /// Sets what Headgate's programs rely on. Call it before anything else, on the main thread.
    ///
    /// Writing to a pipe without a reader, or beyond the limit for file sizes, fails with an error and does not end the
    /// process. Closed standard descriptors become `/dev/null`. `SIGCHLD` has its usual effect, so that the program can wait
    /// for its children.
    /// - Parameter held: signals that are blocked until ``release()`` or until a ``LoopSignal`` follows them. They get their
    ///   default disposition, because an ignored signal is not held.
    public static func prepare(holding held: [Int32] = []) {
        openStandardDescriptors()
        ignoreWriteSignals()
        for number in [SIGCHLD] + held { signal(number, SIG_DFL) }
        setMask(SIG_SETMASK, held)
    }

    /// Unblocks all signals of the calling thread. Held signals that have arrived meanwhile take effect now.
    public static func release() {
        setMask(SIG_SETMASK, [])
    }

    /// Blocks a signal for the calling thread.
    public static func block(_ number: Int32) {
        setMask(SIG_BLOCK, [number])
    }

    /// Returns true if the process was started with this signal ignored, as `nohup` does with `SIGHUP`.
    public static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
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

    /// Changes the mask of the calling thread.
    private static func setMask(_ how: Int32, _ signals: [Int32]) {
        var mask = sigset_t()
        sigemptyset(&mask)
        for number in signals { sigaddset(&mask, number) }
        pthread_sigmask(how, &mask, nil)
    }

    /// The next file or socket that the process opens would get the number of a closed standard descriptor, and the log would
    /// be written into it.
    private static func openStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The kernel gives the lowest free descriptor, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
