import HeadgateCore
import HeadgateTransport

/// Publishes batches for a ``MessageSender``, which hears by its link what comes of each event.
protocol MessagePublisher: AnyObject, Sendable {
    /// Publishes those events of a flight's batch that may go now, one message each. It may do so later: nobody waits for
    /// it.
    func publish(_ flight: Int)
    /// Lets go of the connection. Nothing is published any more.
    func close()
}

/// The way out of a dispatcher of kind `nats` or `kafka` (Behaviour K4, K6): one message an event into a stream or a topic,
/// whose servers acknowledge each.
// Unchecked: it crosses to other threads as a reference only. Its state is touched on the scheduler alone.
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

    /// A batch on its way.
    private struct Flight {
        let timer: any Disposable
        let then: (SendResult) -> Void
    }

    /// - Parameters:
    ///   - keepsOrder: true if what is published in order stays so, whatever fails.
    ///   - judge: says what the outcomes of a batch's events mean for the batch, where that is more than they say.
    ///   - connect: makes the account of flights and the publisher, which tells the account what comes of them. The
    ///     account calls the closure on any thread when a flight is over.
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

    /// Makes a sender whose account of flights is a ``MessageLink``.
    /// - Parameter makePublisher: makes the publisher, which tells the link what comes of each message.
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

    /// What is on its way may still be stored; it is known again when it comes once more.
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
        flights?.heard(ended.number)
        flight.then(judge(ended.result))
    }
}
