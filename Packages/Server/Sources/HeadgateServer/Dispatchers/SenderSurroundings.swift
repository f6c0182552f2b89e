import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport

/// What the senders of all dispatchers share.
public final class SenderSurroundings {
    /// Where all of a sender is called.
    public let scheduler: any Scheduler
    /// Relative paths in settings are relative to this.
    public let dataDirectory: String
    /// The event loop behind the scheduler.
    let loop: EventLoop
    /// Who works for dispatchers of kind `worker`.
    let workforces: Workforces
    private var client: HTTPClient?

    init(scheduler: LoopScheduler, dataDirectory: String, workforces: Workforces) {
        self.scheduler = scheduler
        self.dataDirectory = dataDirectory
        self.workforces = workforces
        loop = scheduler.loop
    }

    /// One for all that speak HTTP, made when it is first needed.
    var http: HTTPClient {
        let client = client ?? HTTPClient(loop: loop, userAgent: "headgate/\(Version.current)")
        self.client = client
        return client
    }

    /// Closes all connections. Nothing is in flight then.
    func close() {
        client?.close()
        client = nil
    }
}

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
