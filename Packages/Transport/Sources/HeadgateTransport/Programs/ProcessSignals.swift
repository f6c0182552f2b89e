import Glibc

/// The signal mask, signal dispositions and standard descriptors of the process. A program inherits all three from its
/// parent, which may have blocked or ignored signals and closed descriptors.
public enum ProcessSignals {
    /// Sets up the state that Headgate's programs rely on. Call it first, on the main thread.
    ///
    /// Writing to a pipe without a reader, or beyond the limit for file sizes, then returns an error and does not end
    /// the process. Closed standard descriptors become `/dev/null`. `SIGCHLD` has its default disposition, so that the
    /// program can wait for its children, and so has `SIGTERM`, so that the program can be stopped.
    /// - Parameter held: signals to block until ``release()`` or until a ``LoopSignal`` handles them. They get their
    ///   default disposition, because an ignored signal is not held.
    public static func prepare(holding held: [Int32] = []) {
        openStandardDescriptors()
        ignoreWriteSignals()
        for number in [SIGCHLD, SIGTERM] + held { signal(number, SIG_DFL) }
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

    /// Makes each of the signals end the process with exit code 0, until a ``LoopSignal`` handles it. It is for
    /// programs that have nothing to finish if they are stopped while they start.
    public static func exit(on signals: [Int32]) {
        for number in signals { signal(number) { _ in _exit(0) } }
    }

    /// Makes writes fail where they would otherwise end the process: to a pipe or socket without a reader (`EPIPE`
    /// instead of SIGPIPE), and beyond the limit on file sizes (`EFBIG` instead of SIGXFSZ). A handler that the program
    /// has set is kept.
    public static func ignoreWriteSignals() {
        for number in [SIGPIPE, SIGXFSZ] {
            let former = signal(number, SIG_IGN)
            // The special handlers (default, ignore, error) are the numbers 0, 1 and -1 as pointers.
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

    /// Opens closed standard descriptors. Otherwise the next opened file or socket would get such a number, and the log
    /// would be written into it.
    private static func openStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The kernel assigns the lowest free descriptor, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
