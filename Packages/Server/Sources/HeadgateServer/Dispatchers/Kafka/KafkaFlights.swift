import HeadgateCore

/// Which events of which batches the producer of librdkafka has, and what is to be produced next. Pure.
///
/// A message outlives its flight: an event that is sent again while the producer still has it is not produced a second time,
/// but waits for the report of that message. So a broker that answers late, or comes and goes, makes no copies.
///
/// Brokers judge sets of messages. What a broker says of a set is believed of an event only if its message was alone. After
/// a refusal nothing is produced until the producer has reported all that it has; then the refused events go again, at
/// first few at once, and what waits behind them stays behind them (Behaviour D6, Q2).
struct KafkaFlights {
    /// The number of a message. A higher one is produced later.
    typealias Message = UInt

    /// What the producer reports of a message.
    enum Report: Equatable {
        /// All replicas in sync have it.
        case stored
        /// A broker refused the set that the message was in. The outcome is that of the event if it was alone.
        case refused(EventOutcome)
        /// It was not stored, or nobody knows, through no fault of its own. The cause is nil where another message's tells
        /// more.
        case failed(cause: String?)
    }

    /// What is to be done after a fact.
    struct Outcome: Equatable {
        /// Flights that are over.
        var ended: [MessageFlights.Ended] = []
        /// True if events may go now that had to wait.
        var mayProduce = false
    }

    /// An event of a flight.
    private struct Place {
        let flight: Int
        let index: Int
    }

    private struct Flight {
        let batch: Batch
        var outcomes: [EventOutcome?]
        /// How many outcomes are missing.
        var open: Int
    }

    /// An event that is to be produced.
    private struct Waiting {
        let place: Place
        let isSuspect: Bool
    }

    /// A message that the producer has.
    private struct Sent {
        let sequenceNumber: SequenceNumber
        /// The event that waits for the report, or nil if its flight is over.
        var place: Place?
        let isAlone: Bool
        let isSuspect: Bool
    }

    /// A message that the producer has given back.
    private struct Returned {
        let message: Message
        let sent: Sent
        let report: Report
    }

    private var flights: [Int: Flight] = [:]
    private var waiting: [Waiting] = []
    /// The place in `waiting` of the next event.
    private var nextWaiting = 0
    private var sent: [Message: Sent] = [:]
    /// The messages that the producer has, by their events' numbers.
    private var messages: [SequenceNumber: Message] = [:]
    /// Events that were stored after their flight was over, and have not come again.
    private var stored: Set<SequenceNumber> = []
    /// What came back since the producer had nothing.
    private var returned: [Returned] = []
    private var lastMessage: Message = 0
    /// How many messages may be with the producer at once while it is looked for who was refused; nil: any number.
    private var limit: Int?
    /// True if the messages up to the limit are handed over, and all have to be reported before others follow.
    private var isRoundFull = false
    /// True if the producer takes no more messages, and another one is needed once it has reported what it has.
    private var hasProducerEnded = true

    /// How many messages the producer has.
    var sentCount: Int { sent.count }

    // MARK: Flights

    /// A batch goes out.
    mutating func begin(_ number: Int, _ batch: Batch) -> Outcome {
        let count = batch.events.count
        var flight = Flight(batch: batch, outcomes: Array(repeating: nil, count: count), open: count)
        if let first = batch.events.first?.sequenceNumber { stored = stored.filter { $0 >= first } }
        for (index, event) in batch.events.enumerated() {
            let place = Place(flight: number, index: index)
            if let message = messages[event.sequenceNumber] {
                sent[message]?.place = place
            } else if stored.remove(event.sequenceNumber) != nil {
                flight.outcomes[index] = .delivered
                flight.open -= 1
            } else {
                waiting.append(Waiting(place: place, isSuspect: false))
            }
        }
        flights[number] = flight
        return Outcome(ended: over(number), mayProduce: mayProduce)
    }

    /// What a flight carries, or nil if it is over.
    func batch(of flight: Int) -> Batch? {
        flights[flight]?.batch
    }

    /// Ends a flight that takes too long. The producer keeps its messages. Events that were not produced yet go again, and so
    /// do those of other flights behind them: they must not go before.
    mutating func end(_ number: Int, cause: String) -> Outcome {
        guard flights[number] != nil else { return Outcome() }
        var outcome = Outcome()
        if waiting[nextWaiting...].contains(where: { $0.place.flight == number }) { outcome = failWaiting(cause) }
        if let ended = giveUp(number, cause) { outcome.ended.append(ended) }
        return outcome
    }

    /// Ends a flight with what came of its events so far. The producer keeps its messages.
    private mutating func giveUp(_ number: Int, _ cause: String) -> MessageFlights.Ended? {
        guard let flight = flights.removeValue(forKey: number) else { return nil }
        for message in sent.keys where sent[message]?.place?.flight == number { sent[message]?.place = nil }
        returned = returned.map { entry in
            guard entry.sent.place?.flight == number else { return entry }
            var sent = entry.sent
            sent.place = nil
            return Returned(message: entry.message, sent: sent, report: entry.report)
        }
        let again = EventOutcome.retry(cause: cause, charged: false)
        return MessageFlights.Ended(number: number, result: SendResult(flight.outcomes.map { $0 ?? again }))
    }

    /// Has all events go again that were not produced yet: the producer cannot be had.
    ///
    /// Their flights are over, also if the producer has others of their events: the dispatcher has to hear of those that go
    /// again before it sends later ones. And a message that was handed over alone stays alone until it is reported.
    mutating func failWaiting(_ cause: String) -> Outcome {
        let places = waiting[nextWaiting...].map(\.place)
        (waiting, nextWaiting, limit) = ([], 0, nil)
        isRoundFull = isRoundFull && !sent.isEmpty
        var outcome = Outcome()
        for place in places {
            if let ended = giveUp(place.flight, cause) { outcome.ended.append(ended) }
        }
        return outcome
    }

    /// Forgets all flights; nobody waits for them. The producer keeps its messages.
    mutating func forgetFlights() {
        for number in flights.keys { _ = end(number, cause: "") }
    }

    // MARK: Producing

    /// True if a producer has to be made before the next event.
    var needsProducer: Bool { hasProducerEnded }

    private var needsDraining: Bool { hasProducerEnded && !sent.isEmpty }

    /// A producer was made.
    mutating func producerMade() { hasProducerEnded = false }

    /// The producer takes no more messages. It still reports what it has.
    mutating func producerEnded() { hasProducerEnded = true }

    /// True if an event waits that may be produced now.
    var mayProduce: Bool {
        guard nextWaiting < waiting.count, returned.isEmpty, !isRoundFull, !needsDraining else { return false }
        return limit.map { sent.count < $0 } ?? true
    }

    /// Events of one batch that are to be produced now.
    struct Portion {
        let batch: Batch
        /// The first one's message. The others have the numbers that follow.
        let firstMessage: Message
        var indices: [Int]
    }

    /// Takes the next events that may be produced, up to a number of them.
    mutating func take(_ most: Int) -> [Portion] {
        var portions: [Portion] = []
        var flight: (number: Int, batch: Batch)?
        for _ in 0..<most where mayProduce {
            let place = waiting[nextWaiting].place
            if flight?.number != place.flight {
                guard let batch = flights[place.flight]?.batch else { break }
                flight = (place.flight, batch)
                portions.append(Portion(batch: batch, firstMessage: lastMessage + 1, indices: []))
            }
            guard let batch = flight?.batch else { break }
            produce(batch.events[place.index].sequenceNumber)
            portions[portions.count - 1].indices.append(place.index)
        }
        return portions
    }

    /// The next waiting event goes to the producer.
    private mutating func produce(_ number: SequenceNumber) {
        let entry = waiting[nextWaiting]
        nextWaiting += 1
        if nextWaiting == waiting.count { (waiting, nextWaiting) = ([], 0) }
        lastMessage += 1
        let isAlone = limit == 1 && sent.isEmpty
        sent[lastMessage] = Sent(
            sequenceNumber: number, place: entry.place, isAlone: isAlone, isSuspect: entry.isSuspect)
        messages[number] = lastMessage
        if let limit, sent.count >= limit { isRoundFull = true }
    }

    // MARK: Reports

    /// What came of a message.
    mutating func report(_ message: Message, _ report: Report) -> Outcome {
        guard let entry = sent.removeValue(forKey: message) else { return Outcome() }
        messages[entry.sequenceNumber] = nil
        let could = mayProduce
        var outcome = Outcome()
        switch report {
        case .stored:
            if let place = entry.place {
                outcome.ended = settle(place, .delivered)
            } else {
                stored.insert(entry.sequenceNumber)
            }
        case .refused(let believed) where entry.isAlone:
            if let place = entry.place { outcome.ended = settle(place, believed) }
            // What waits behind an event that goes again must not go before it.
            if case .retry(let cause, _) = believed { outcome.ended += failWaiting(cause).ended }
        case .refused, .failed:
            returned.append(Returned(message: message, sent: entry, report: report))
        }
        if sent.isEmpty { outcome.ended += drained() }
        outcome.mayProduce = mayProduce && !could
        return outcome
    }

    /// The producer was given up: of what it had nobody will hear.
    mutating func abandon(_ cause: String?) -> Outcome {
        hasProducerEnded = true
        var outcome = Outcome()
        for message in sent.keys.sorted() { outcome.ended += report(message, .failed(cause: cause)).ended }
        outcome.mayProduce = mayProduce
        return outcome
    }

    /// The producer has nothing: what it gave back is judged.
    private mutating func drained() -> [MessageFlights.Ended] {
        isRoundFull = false
        let back = returned.sorted { $0.message < $1.message }
        returned = []
        let refused = back.count { $0.report.isRefusal }
        guard refused > 0, !back.contains(where: { $0.sent.place == nil }) else {
            if back.isEmpty { widen() }
            return back.isEmpty ? [] : fail(back)
        }
        let again = back.compactMap { entry in
            entry.sent.place.map { Waiting(place: $0, isSuspect: entry.report.isRefusal || entry.sent.isSuspect) }
        }
        waiting = again + waiting[nextWaiting...]
        nextWaiting = 0
        limit = max(1, refused / KafkaFlights.parts)
        return []
    }

    /// All of a round was stored, or judged alone: more may go at once, and all of it once nothing is suspected.
    private mutating func widen() {
        guard let limit else { return }
        self.limit = waiting[nextWaiting...].contains(where: \.isSuspect) ? limit * 2 : nil
    }

    /// All that came back goes again later, and what waits behind it: none of it may go before.
    private mutating func fail(_ back: [Returned]) -> [MessageFlights.Ended] {
        let cause = back.lazy.compactMap(\.report.cause).first ?? "Kafka: given up"
        var ended: [MessageFlights.Ended] = []
        for place in back.compactMap(\.sent.place) { ended += settle(place, .retry(cause: cause, charged: false)) }
        return ended + failWaiting(cause).ended
    }

    private mutating func settle(_ place: Place, _ outcome: EventOutcome) -> [MessageFlights.Ended] {
        guard let flight = flights[place.flight], flight.outcomes[place.index] == nil else { return [] }
        flights[place.flight]?.outcomes[place.index] = outcome
        flights[place.flight]?.open -= 1
        return over(place.flight)
    }

    /// A flight, if it is over.
    private mutating func over(_ number: Int) -> [MessageFlights.Ended] {
        guard flights[number]?.open == 0, let flight = flights.removeValue(forKey: number) else { return [] }
        return [MessageFlights.Ended(number: number, result: SendResult(flight.outcomes))]
    }

    /// A refused set goes again in so many parts at least.
    private static let parts = 8
}

extension KafkaFlights.Report {
    fileprivate var isRefusal: Bool {
        if case .refused = self { true } else { false }
    }

    fileprivate var cause: String? {
        switch self {
        case .stored: nil
        case .refused(let believed): believed.refusalCause
        case .failed(let cause): cause
        }
    }
}

extension EventOutcome {
    /// Why a broker refused the event.
    fileprivate var refusalCause: String? {
        switch self {
        case .delivered, .duplicate: nil
        case .retry(let cause, _), .dead(_, let cause): cause
        }
    }
}
