import Glibc

/// The signal mask and dispositions of the process. A program inherits both from its parent, which may have blocked or
/// ignored any signal.
public enum ProcessSignals {
    /// Sets the mask and the dispositions that Headgate's programs need. Call it before anything else, on the main thread.
    ///
    /// Writing to a pipe without a reader, or beyond the limit for file sizes, fails with an error and does not end the
    /// process. Closed standard descriptors become `/dev/null`. `SIGCHLD` has its usual effect, so that ended children can be waited for.
    /// - Parameter held: signals that are blocked until ``release()``, because the process is not ready to follow them.
    public static func prepare(holding held: [Int32] = []) {
        ProgramStart.openStandardDescriptors()
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGCHLD, SIG_DFL)
        var mask = sigset_t()
        sigemptyset(&mask)
        for number in held { sigaddset(&mask, number) }
        sigprocmask(SIG_SETMASK, &mask, nil)
    }

    /// Unblocks all signals of the calling thread. Held signals that have come meanwhile take effect now.
    public static func release() {
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
    }

    /// Returns true if the process was started with this signal ignored, as `nohup` does with `SIGHUP`.
    public static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
