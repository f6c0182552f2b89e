import HeadgateCore
import HeadgateTransport

/// A publisher that calls another publisher on its own thread. The publisher's library may block, and must delay
/// neither the loop nor other dispatchers.
final class PublisherThread<Publisher: MessagePublisher>: MessagePublisher {
    private let thread: EventLoop
    private let publisher: Publisher

    /// - Parameter publisher: the publisher, which only the thread calls.
    init(_ publisher: Publisher, named name: String) throws(TransportError) {
        thread = try EventLoop.onNewThread(named: name)
        self.publisher = publisher
    }

    func publish(_ flight: Int) {
        thread.submit { [publisher] in publisher.publish(flight) }
    }

    /// Closes without waiting. The thread ends when the library's call returns.
    func close() {
        thread.submit { [publisher] in publisher.close() }
        thread.stop()
    }
}
