import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport

/// The parts of the service that the senders of all dispatchers share.
public final class SenderContext {
    /// The scheduler on which senders are called.
    public let scheduler: any Scheduler
    /// The data directory. Relative paths in settings refer to it.
    public let dataDirectory: String
    /// The event loop below the scheduler, or nil if the scheduler has none.
    private let loop: EventLoop?
    /// The workers of dispatchers of kind `worker`.
    let workerGroups: WorkerGroups
    /// The threads that write files, for dispatchers of kind `file`.
    let fileThreads = FileThreads()
    private var client: HTTPClient?

    init(scheduler: any Scheduler, loop: EventLoop?, dataDirectory: String, workerGroups: WorkerGroups) {
        self.scheduler = scheduler
        self.dataDirectory = dataDirectory
        self.workerGroups = workerGroups
        self.loop = loop
    }

    /// The HTTP client of all dispatchers, made at its first use. Nil without an event loop.
    var http: HTTPClient? {
        if client == nil { client = loop.map { HTTPClient(loop: $0, userAgent: "headgate/\(Version.current)") } }
        return client
    }

    /// Returns the event loop. Throws if there is none.
    func requireLoop() throws(StartFault) -> EventLoop {
        guard let loop else { throw StartFault("the dispatcher needs an event loop") }
        return loop
    }

    /// Returns the HTTP client. Throws if there is no event loop.
    func requireHTTP() throws(StartFault) -> HTTPClient {
        guard let http else { throw StartFault("the dispatcher needs an event loop") }
        return http
    }

    /// Closes all connections. The caller must have ended all transfers.
    func close() {
        client?.close()
        client = nil
    }
}
