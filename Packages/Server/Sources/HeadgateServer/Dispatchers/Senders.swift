import HeadgateCore
import HeadgateData
import HeadgateTransport

/// Makes the sender of each dispatcher.
final class Senders {
    private let worker: LoopWorker
    private let dataDirectory: String
    private let own: [any SenderFactory]
    private var client: HTTPClient?

    /// - Parameter own: what makes the senders of the program's own kinds.
    init(worker: LoopWorker, dataDirectory: String, own: [any SenderFactory]) {
        self.worker = worker
        self.dataDirectory = dataDirectory
        self.own = own
    }

    private var loop: EventLoop { worker.loop }

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

    /// Makes the sender of a dispatcher.
    /// - Parameter workforces: who works for dispatchers of kind `worker`.
    func make(_ dispatcher: ConfiguredDispatcher, _ workforces: Workforces) throws -> any Sender {
        switch dispatcher.kind {
        case .http(let settings):
            return try HTTPSender(settings, client: http)
        case .file(var settings):
            if !settings.path.hasPrefix("/") { settings.path = "\(dataDirectory)/\(settings.path)" }
            return try FileSender(settings, loop: loop)
        case .worker(let settings):
            return WorkerSender(workforces.workforce(of: dispatcher.id, settings))
        case .nats(let settings):
            return try NATSSender(settings, loop: loop)
        case .own(let settings):
            guard let factory = own.last(where: { $0.kind == settings.kind }) else {
                preconditionFailure("settings of this kind are only read where there is a factory")
            }
            return try factory.makeSender(
                dispatcher: dispatcher.id, configuration: settings.configuration, on: worker)
        }
    }
}
