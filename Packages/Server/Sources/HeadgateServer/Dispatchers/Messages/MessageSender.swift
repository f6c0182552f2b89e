import HeadgateCore
import HeadgateTransport

/// Publishes batches for a ``MessageSender``, which hears by its link what comes of each event.
protocol MessagePublisher: AnyObject, Sendable {
    /// Publishes the events of a flight's batch, one message each. It may do so later: nobody waits for it.
    func publish(_ flight: Int)
    /// Lets go of the connection. Nothing is published any more.
    func close()
}

/// The way out of a dispatcher of kind `nats` or `kafka` (Behaviour K4, K6): one message an event into a stream or a topic,
/// whose servers acknowledge each.
// Unchecked: it crosses to other threads as a reference only. Its state is touched on the scheduler alone.
final class MessageSender: Sender, @unchecked Sendable {
    let format = BatchFormat.separate

    private let scheduler: any Scheduler
    private let timeout: Duration
    private let judge: (SendResult) -> SendResult
    private var publisher: (any MessagePublisher)?
    private var link: MessageLink?
    private var inFlight: [Int: Flight] = [:]
    private var nextFlight = 0

    /// A batch on its way.
    private struct Flight {
        let timer: any Disposable
        let then: (SendResult) -> Void
    }

    /// - Parameters:
    ///   - judge: says what the outcomes of a batch's events mean for the batch, where that is more than they say.
    ///   - makePublisher: makes who publishes, and tells the link what comes of it.
    init(
        timeout: Duration, on scheduler: any Scheduler, judge: @escaping (SendResult) -> SendResult = { $0 },
        makePublisher: (MessageLink) throws(TransportError) -> any MessagePublisher
    ) throws(TransportError) {
        scheduler.preconditionOnScheduler()
        self.scheduler = scheduler
        self.timeout = timeout
        self.judge = judge
        let queue = SchedulerQueue(scheduler)
        let link = MessageLink { [weak self] ended in
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
        link.begin(flight, batch)
        let timer = scheduler.schedule(at: scheduler.now + timeout) { link.end(flight, cause: "timed out") }
        inFlight[flight] = Flight(timer: timer, then: then)
        publisher.publish(flight)
    }

    /// What is on its way may still be stored; it is known again when it comes once more.
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

    private func end(_ ended: MessageFlights.Ended) {
        guard let flight = inFlight.removeValue(forKey: ended.number) else { return }
        flight.timer.dispose()
        flight.then(judge(ended.result))
    }
}
