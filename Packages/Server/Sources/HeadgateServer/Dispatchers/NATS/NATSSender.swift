import HeadgateCore
import HeadgateTransport

/// Publishes batches for a ``NATSSender``, which hears by its link what comes of each event.
protocol NATSPublisher: AnyObject, Sendable {
    /// Publishes the events of a batch, one message each. It may do so later: nobody waits for it.
    func publish(_ batch: Batch, as flight: Int)
    /// Lets go of the connection. Nothing is published any more.
    func close()
}

/// The way out of a dispatcher of kind `nats` (Behaviour K4): one message an event into a JetStream stream, which
/// acknowledges each.
// Unchecked: it crosses to other threads as a reference only. Its state is touched on the scheduler alone.
final class NATSSender: Sender, @unchecked Sendable {
    let format = BatchFormat.separate

    private let scheduler: any Scheduler
    private let timeout: Duration
    private var publisher: (any NATSPublisher)?
    private var link: NATSLink?
    private var inFlight: [Int: Flight] = [:]
    private var nextFlight = 0

    /// A batch on its way.
    private struct Flight {
        let timer: any Disposable
        let then: (SendResult) -> Void
    }

    /// - Parameter makePublisher: makes who publishes, and tells the link what comes of it.
    init(
        timeout: Duration, on scheduler: any Scheduler,
        makePublisher: (NATSLink) throws(TransportError) -> any NATSPublisher
    ) throws(TransportError) {
        scheduler.preconditionOnScheduler()
        self.scheduler = scheduler
        self.timeout = timeout
        let queue = SchedulerQueue(scheduler)
        let link = NATSLink { [weak self] ended in
            queue.ensureOnQueue { [weak self] in self?.end(ended) }
        }
        publisher = try makePublisher(link)
        self.link = link
    }

    deinit {
        close()
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        let flight = nextFlight
        nextFlight += 1
        guard let link, let publisher else {
            return scheduler.soon { then(.interrupted) }
        }
        link.begin(flight, events: batch.events.count)
        let timer = scheduler.schedule(at: scheduler.now + timeout) { link.end(flight, cause: "timed out") }
        inFlight[flight] = Flight(timer: timer, then: then)
        publisher.publish(batch, as: flight)
    }

    /// What is with the server may still reach the stream; it is known again when it comes once more.
    func interrupt() {
        link?.forgetFlights()
        let given = inFlight.sorted { $0.key < $1.key }
        inFlight = [:]
        for (_, flight) in given { flight.timer.dispose() }
        scheduler.soon { for (_, flight) in given { flight.then(.interrupted) } }
    }

    func close() {
        guard let publisher else { return }
        link?.forgetFlights()
        (self.publisher, link) = (nil, nil)
        publisher.close()
    }

    private func end(_ ended: NATSFlights.Ended) {
        guard let flight = inFlight.removeValue(forKey: ended.number) else { return }
        flight.timer.dispose()
        flight.then(ended.result)
    }
}

extension NATSSender {
    /// One that publishes by libnats.
    convenience init(_ settings: NATSSettings, on scheduler: any Scheduler) throws(TransportError) {
        try self.init(timeout: settings.timeout, on: scheduler) { link throws(TransportError) in
            try NATSThread(settings, link: link)
        }
    }
}

/// Publishes by libnats, which is called on a thread of its own, and calls back on threads of its own: neither the loop nor
/// another dispatcher waits for it.
private final class NATSThread: NATSPublisher {
    private let thread: EventLoop
    private let connection: NATSConnection

    init(_ settings: NATSSettings, link: NATSLink) throws(TransportError) {
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
