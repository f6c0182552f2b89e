import HeadgateCore
import HeadgateTransport

extension MessageSender {
    /// One that publishes by libnats.
    convenience init(_ settings: NATSSettings, on scheduler: any Scheduler) throws(TransportError) {
        try self.init(timeout: settings.timeout, on: scheduler) { link throws(TransportError) in
            try NATSThread(settings, link: link)
        }
    }
}

/// Publishes by libnats, which is called on a thread of its own, and calls back on threads of its own: neither the loop nor
/// another dispatcher waits for it.
private final class NATSThread: MessagePublisher {
    private let thread: EventLoop
    private let connection: NATSConnection

    init(_ settings: NATSSettings, link: MessageLink) throws(TransportError) {
        thread = try EventLoop.onNewThread(named: "headgate-nats")
        connection = NATSConnection(settings, link: link)
    }

    func publish(_ batch: Batch, as flight: Int) {
        thread.submit { [connection] in connection.publish(batch, as: flight) }
    }

    /// Does not wait for the thread, which ends once libnats lets it.
    func close() {
        thread.submit { [connection] in connection.close() }
        thread.stop()
    }
}
