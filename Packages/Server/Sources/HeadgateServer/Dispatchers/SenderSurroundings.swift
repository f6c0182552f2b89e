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
    /// The event loop behind the scheduler, if there is one.
    private let loop: EventLoop?
    /// Who works for dispatchers of kind `worker`.
    let workforces: Workforces
    /// The threads that write the files of dispatchers of kind `file`.
    let fileThreads = FileThreads()
    private var client: HTTPClient?

    init(scheduler: any Scheduler, loop: EventLoop?, dataDirectory: String, workforces: Workforces) {
        self.scheduler = scheduler
        self.dataDirectory = dataDirectory
        self.workforces = workforces
        self.loop = loop
    }

    /// One for all that speak HTTP, made when it is first needed; nil without an event loop.
    var http: HTTPClient? {
        if client == nil { client = loop.map { HTTPClient(loop: $0, userAgent: "headgate/\(Version.current)") } }
        return client
    }

    /// The event loop, for senders that cannot be without one.
    func requireLoop() throws(StartFault) -> EventLoop {
        guard let loop else { throw StartFault("the dispatcher needs an event loop") }
        return loop
    }

    /// The HTTP client, for senders that cannot be without one.
    func requireHTTP() throws(StartFault) -> HTTPClient {
        guard let http else { throw StartFault("the dispatcher needs an event loop") }
        return http
    }

    /// Closes all connections. Nothing is in flight then.
    func close() {
        client?.close()
        client = nil
    }
}
