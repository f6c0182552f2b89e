import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// Dispatchers that publish into a stream, with the daemon's own sender and without libnats: `"kind": "stream"`
/// (Behaviour K4).
struct StreamKind: DispatcherKind {
    struct Settings: Sendable, Equatable {}

    let name = "stream"
    let destination: StreamWitness

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> Settings { Settings() }

    func reachesNetwork(_ settings: Settings) -> Bool { false }

    func makeSender(
        of dispatcher: String, _ settings: Settings, in context: SenderContext
    ) throws -> any Sender {
        let sender = try MessageSender(timeout: StreamWitness.timeout, on: context.scheduler) { [destination] link in
            destination.stream.connect(link)
            return destination.stream
        }
        return WitnessedSender(sender, destination)
    }
}

/// A stream that acknowledges each event of a batch, and a model of their outcomes.
final class StreamWitness: SenderWitness {
    static let timeout = Duration.seconds(3)

    let queue: QueueModel
    let stream: SimulatedStream
    /// A client's barrier that certainly blocks the dispatcher.
    var closing: () -> String? = { nil }
    /// The number of events that the dispatcher expired or evicted in this life.
    var lost: () -> Int = { 0 }
    private let terms: SimulatedDestination.Terms
    private let record: Record
    private let scheduler: any Scheduler
    private var charges: Charges
    private var order: OrderCheck
    /// The send time of each batch in flight.
    private var begun: [Int: Instant] = [:]

    init(_ queue: QueueModel, _ terms: SimulatedDestination.Terms, _ record: Record, _ scheduler: any Scheduler) {
        (self.queue, self.terms, self.record, self.scheduler) = (queue, terms, record, scheduler)
        stream = SimulatedStream(record)
        charges = Charges(queue, record)
        order = OrderCheck(isWhole: terms.inFlight == 1)
    }

    func lifeEnded() {
        stream.lifeEnded()
        charges = Charges(queue, record)
        order = OrderCheck(isWhole: terms.inFlight == 1)
        begun = [:]
    }

    var isIdle: Bool { begun.isEmpty }

    // MARK: The dispatcher's end

    func began(_ batch: Batch) {
        let numbers = batch.events.map(\.sequenceNumber)
        record.note("\(queue.id) publishes \(numbers)")
        record.expect(closing() == nil, "\(queue.id) publishes \(numbers) while \(closing() ?? "") is closed")
        record.expect(numbers.count <= terms.dispatchLimit, "\(queue.id) publishes a batch of \(numbers.count)")
        record.expect(begun.count < terms.inFlight, "\(queue.id) exceeds its limit of batches in flight")
        for event in batch.events {
            queue.taken(event.sequenceNumber)
            charges.expect(event)
        }
        let problem = order.problem(of: batch.events, unfinished: lost() == 0 ? queue.waiting : [])
        record.expect(problem == nil, "\(queue.id) publishes \(problem ?? "")")
        begun[batch.number] = scheduler.now
    }

    /// Checks the result of a batch: each event must have the outcome that the stream reported in time. The others are
    /// retried without charge.
    func ended(_ batch: Batch, _ result: SendResult, then: (SendResult) -> Void) {
        record.note("\(queue.id) has \(batch.events.map(\.sequenceNumber)) \(result)")
        guard let begin = begun.removeValue(forKey: batch.number) else {
            return record.expect(false, "\(queue.id) ends a batch twice")
        }
        record.expect(scheduler.now <= begin + StreamWitness.timeout, "\(queue.id) waits too long for a stream")
        let isDue = result == .interrupted || scheduler.now >= begin + StreamWitness.timeout || stream.mayEnd(batch)
        record.expect(isDue, "\(queue.id) ends a batch before all events have outcomes")
        let said = stream.end(batch)
        if result != .interrupted {
            let words = outcomes(of: batch, result).map(Word.init)
            record.expect(words == said.map(Word.init), "\(queue.id) has outcomes \(words), not \(said)")
            if Set(words).count > 1 { record.count(.streamInParts) }
            for (event, outcome) in zip(batch.events, said) {
                charges.account(event.sequenceNumber, outcome, at: scheduler.now)
            }
        }
        then(result)
    }

    private func outcomes(of batch: Batch, _ result: SendResult) -> [EventOutcome] {
        switch result {
        case .delivered: batch.events.map { _ in .delivered }
        case .each(let outcomes): outcomes
        case .noAnswer(let cause, _): batch.events.map { _ in .retry(cause: cause, charged: false) }
        case .partlyRejected, .refused, .lost, .returned, .unsendable, .interrupted: []
        }
    }

    /// An outcome without its cause.
    private enum Word: Hashable {
        case delivered, dead, again, againCharged

        init(_ outcome: EventOutcome) {
            switch outcome {
            case .delivered, .duplicate: self = .delivered
            case .dead: self = .dead
            case .retry(_, charged: let isCharged): self = isCharged ? .againCharged : .again
            }
        }
    }
}
