import HeadgateCore
import HeadgateTransport

/// Makes the sender of each dispatcher.
final class Senders {
    private let loop: EventLoop
    private let dataDirectory: String
    /// One for all that speak HTTP, so that they share connections.
    private(set) lazy var http = HTTPClient(loop: loop, userAgent: "headgate/\(Version.current)")

    init(loop: EventLoop, dataDirectory: String) {
        self.loop = loop
        self.dataDirectory = dataDirectory
    }

    func make(_ kind: DispatcherKindSettings) throws(TransportError) -> any Sender {
        switch kind {
        case .http(let settings):
            return HTTPSender(settings, client: http)
        case .file(var settings):
            if !settings.path.hasPrefix("/") { settings.path = "\(dataDirectory)/\(settings.path)" }
            return try FileSender(settings, loop: loop)
        }
    }
}
