import HeadgateCore
import HeadgateData
import HeadgateTransport

/// Makes the sender of each dispatcher.
final class Senders {
    private let loop: EventLoop
    private let dataDirectory: String
    private var client: HTTPClient?

    init(loop: EventLoop, dataDirectory: String) {
        self.loop = loop
        self.dataDirectory = dataDirectory
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
