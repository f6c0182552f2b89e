import HeadgateCore
import HeadgateTransport

/// Calls a library that may take its time on a thread of its own: neither the loop nor another dispatcher waits for it.
final class PublisherThread<Publisher: MessagePublisher>: MessagePublisher {
    private let thread: EventLoop
    private let publisher: Publisher

    /// - Parameter publisher: handed over to the thread: all is called there alone.
    init(_ publisher: Publisher, named name: String) throws(TransportError) {
        thread = try EventLoop.onNewThread(named: name)
        self.publisher = publisher
    }

    func publish(_ flight: Int) {
        thread.submit { [publisher] in publisher.publish(flight) }
    }

    /// Does not wait for the thread, which ends once the library lets it.
    func close() {
        thread.submit { [publisher] in publisher.close() }
        thread.stop()
    }
}
