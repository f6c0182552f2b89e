import Glibc

/// The signal that ends a process which writes to a connection or pipe that nobody reads any more.
enum BrokenPipe {
    /// Turns the signal off for the process, once: a write fails with `EPIPE` instead. A handler that the program has
    /// set itself stays.
    static let isIgnored: Void = {
        let former = signal(SIGPIPE, SIG_IGN)
        // The special handlers (default, ignore, error) are the numbers 0, 1 and -1 in a pointer's place.
        let isHandler = !(-1...1).contains(unsafeBitCast(former, to: Int.self))
        if isHandler { signal(SIGPIPE, former) }
    }()
}
