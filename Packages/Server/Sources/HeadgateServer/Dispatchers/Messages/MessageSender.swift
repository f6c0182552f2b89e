import HeadgateCore
import HeadgateTransport

/// A publisher of a ``MessageSender``'s batches. It reports the outcome of each event to the sender's flights.
protocol MessagePublisher: AnyObject, Sendable {
    /// Publishes the events of a flight that may be published now, one message each. It may do so after it returns.
    func publish(_ flight: Int)
    /// Closes the connection. The sender publishes no event after this.
    func close()
}

/// The sender of a dispatcher of kind `nats` or `kafka` (Behaviour K4, K6). It publishes one message for each event to
/// a stream or topic, whose servers acknowledge each.
// Unchecked: other threads only pass the reference on. The scheduler alone uses the state.
final class MessageSender: Sender, @unchecked Sendable {
    let format = BatchFormat.separate
    let capacity: SenderCapacity

    private let scheduler: any Scheduler
    private let timeout: Duration
    private let judge: (SendResult) -> SendResult
    private var publisher: (any MessagePublisher)?
    private var flights: (any FlightAccount)?
    private var inFlight: [Int: Flight] = [:]
    private var nextFlight = 0

    /// A batch in flight.
    private struct Flight {
        let timer: any Disposable
        let then: (SendResult) -> Void
    }

    /// Makes a sender.
    /// - Parameters:
    ///   - keepsOrder: true if the destination keeps the order of publishing even after failures.
    ///   - judge: replaces the result of a batch, for example by a pause; returns it unchanged by default.
    ///   - connect: makes the flights and the publisher. The flights call the closure on any thread when a flight ends.
    init(
        timeout: Duration, on scheduler: any Scheduler, keepsOrder: Bool,
        judge: @escaping (SendResult) -> SendResult = { $0 },
        connect: (@escaping @Sendable (MessageFlights.Ended) -> Void) throws(TransportError) ->
            (any FlightAccount, any MessagePublisher)
    ) throws(TransportError) {
        scheduler.preconditionOnScheduler()
        self.scheduler = scheduler
        self.timeout = timeout
        self.judge = judge
        capacity = SenderCapacity(isWindow: true, keepsOrder: keepsOrder)
        let queue = SchedulerQueue(scheduler)
        let (flights, publisher) = try connect { [weak self] ended in
            queue.ensureOnQueue { [weak self] in self?.end(ended) }
        }
        (self.flights, self.publisher) = (flights, publisher)
    }

    /// Makes a sender whose flights are a ``MessageLink``.
    /// - Parameter makePublisher: makes the publisher, which reports the outcome of each message to the link.
    convenience init(
        timeout: Duration, on scheduler: any Scheduler,
        makePublisher: (MessageLink) throws(TransportError) -> any MessagePublisher
    ) throws(TransportError) {
        try self.init(timeout: timeout, on: scheduler, keepsOrder: false) { ended throws(TransportError) in
            let link = MessageLink(ended: ended)
            let publisher = try makePublisher(link)
            link.onReady { [weak publisher] in publisher?.publish($0) }
            return (link, publisher)
        }
    }

    deinit {
        close()
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        let flight = nextFlight
        nextFlight += 1
        guard let flights, let publisher else {
            return scheduler.soon { then(.interrupted) }
        }
        flights.begin(flight, batch)
        let timer = scheduler.schedule(at: scheduler.now + timeout) { flights.end(flight, cause: "timed out") }
        inFlight[flight] = Flight(timer: timer, then: then)
        publisher.publish(flight)
    }

    /// Interrupts all batches. Messages in flight may still be stored, and the destination recognises them when they
    /// are sent again.
    func interrupt() {
        flights?.forgetFlights()
        let given = inFlight.sorted { $0.key < $1.key }
        inFlight = [:]
        for (_, flight) in given { flight.timer.dispose() }
        scheduler.soon { for (_, flight) in given { flight.then(.interrupted) } }
    }

    func close() {
        guard let publisher else { return }
        flights?.forgetFlights()
        (self.publisher, flights) = (nil, nil)
        publisher.close()
    }

    private func end(_ ended: MessageFlights.Ended) {
        guard let flight = inFlight.removeValue(forKey: ended.number) else { return }
        flight.timer.dispose()
        flights?.willEnd(ended.number)
        flight.then(judge(ended.result))
    }
}
