import HeadgateCore
import HeadgateTransport

/// Makes the sender of each dispatcher.
struct Senders {
    private let loop: EventLoop
    private let dataDirectory: String
    /// One for all dispatchers, so that they share connections.
    private var http: HTTPClient?

    init(loop: EventLoop, dataDirectory: String) {
        self.loop = loop
        self.dataDirectory = dataDirectory
    }

    mutating func make(_ kind: DispatcherKindSettings) throws(TransportError) -> any Sender {
        switch kind {
        case .http(let settings):
            let client = http ?? HTTPClient(loop: loop, userAgent: "headgate/\(Version.current)")
            http = client
            return HTTPSender(settings, client: client)
        case .file(var settings):
            if !settings.path.hasPrefix("/") { settings.path = "\(dataDirectory)/\(settings.path)" }
            return try FileSender(settings, loop: loop)
        }
    }
}
