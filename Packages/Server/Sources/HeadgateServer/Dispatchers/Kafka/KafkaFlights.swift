import HeadgateCore

/// The batches in flight, their messages in librdkafka's producer, and the events to produce next. A pure value.
///
/// A message outlives its flight. If an event is sent again while the producer still has its message, no second message
/// is produced. The event waits for the report of the first one. So brokers that answer late, or that come and go,
/// cause no copies.
///
/// Brokers judge sets of messages. A broker's refusal counts for an event only if its message was alone in the set.
/// After a refusal nothing is produced until the producer has reported all its messages. Then the refused events are
/// produced again, few at a time, and the events behind them stay behind them (Behaviour D6, Q2).
struct KafkaFlights {
    /// The number of a message. Numbers grow in the order of production.
    typealias Message = UInt

    /// The producer's report of a message.
    enum Report: Equatable {
        /// All replicas in sync have the message.
        case stored
        /// A broker refused the message's set. The outcome applies to the event if its message was alone.
        case refused(EventOutcome)
        /// The message was not stored, or its fate is unknown, for a reason outside the event. The cause is nil if
        /// another message's report has it.
        case failed(cause: String?)
    }

    /// Consecutive messages with the same report.
    struct Reports: Equatable {
        var messages: ClosedRange<Message>
        let report: Report
    }

    /// The effects of a change, which the caller carries out.
    struct Outcome: Equatable {
        /// The flights that have ended.
        var ended: [MessageFlights.Ended] = []
        /// True if events that had to wait may be produced now.
        var mayProduce = false
    }

    /// The position of an event: its flight, and its index there.
    private struct Position {
        let flight: Int
        let index: Int
    }

    private struct Flight {
        let batch: Batch
        var outcomes: BatchOutcomes
    }

    /// An event that is not produced yet.
    private struct Waiting {
        let position: Position
        let isSuspect: Bool
    }

    /// A message that the producer has.
    private struct Sent {
        let sequenceNumber: SequenceNumber
        /// The position of the event that waits for the report, or nil if its flight has ended.
        var position: Position?
        let isAlone: Bool
        let isSuspect: Bool
    }

    /// The messages that the producer has, by number. Numbers are given in order, and reports come nearly in order, so a
    /// list from the oldest message on is enough.
    private struct SentMessages {
        private var entries: [Sent?] = []
        /// The index of the oldest message in `entries`.
        private var start = 0
        /// The number of the message at index 0.
        private var first: Message = 0
        private(set) var count = 0

        var isEmpty: Bool { count == 0 }

        /// The numbers of all messages, in order.
        var numbers: [Message] {
            entries.indices.dropFirst(start).compactMap { entries[$0] == nil ? nil : first + Message($0) }
        }

        subscript(message: Message) -> Sent? {
            get { index(of: message).flatMap { entries[$0] } }
            set { if let index = index(of: message) { entries[index] = newValue } }
        }

        /// Adds the message that follows the newest one.
        mutating func append(_ entry: Sent, as message: Message) {
            if isEmpty { (entries, start, first) = ([], 0, message) }
            entries.append(entry)
            count += 1
        }

        mutating func remove(_ message: Message) -> Sent? {
            guard let index = index(of: message), let entry = entries[index] else { return nil }
            entries[index] = nil
            count -= 1
            while start < entries.count, entries[start] == nil { start += 1 }
            if start > 1024, start > entries.count / 2 {
                entries.removeFirst(start)
                first += Message(start)
                start = 0
            }
            return entry
        }

        private func index(of message: Message) -> Int? {
            guard message >= first, message - first < Message(entries.count) else { return nil }
            return Int(message - first)
        }
    }

    /// A message that the producer has returned without storing it.
    private struct Returned {
        let message: Message
        let sent: Sent
        let report: Report
    }

    private var flights: [Int: Flight] = [:]
    private var waiting: [Waiting] = []
    /// The index of the next event in `waiting`.
    private var nextWaiting = 0
    private var sent = SentMessages()
    /// The producer's messages whose flights have ended, by their events' sequence numbers.
    private var orphans: [SequenceNumber: Message] = [:]
    /// The events that were stored after their flight had ended, and that were not sent again so far.
    private var stored: Set<SequenceNumber> = []
    /// The messages that were returned since the producer last had none.
    private var returned: [Returned] = []
    private var lastMessage: Message = 0
    /// The most messages that the producer may have during the search for the refused event, or nil for no limit.
    private var limit: Int?
    /// True if the producer has as many messages as the limit allows. All must be reported before others follow.
    private var isRoundFull = false
    /// True if the producer takes no more messages. Another one is needed once it has reported all its messages.
    private var hasProducerEnded = true

    /// The number of messages that the producer has.
    var sentCount: Int { sent.count }

    // MARK: Flights

    /// Begins a flight with a batch.
    mutating func begin(_ number: Int, _ batch: Batch) -> Outcome {
        var flight = Flight(batch: batch, outcomes: BatchOutcomes(of: batch.events.count))
        if !stored.isEmpty, let first = batch.events.first?.sequenceNumber { stored = stored.filter { $0 >= first } }
        // Iterate over indices: each copied event would retain its chunk.
        for index in batch.events.indices {
            let position = Position(flight: number, index: index)
            let event = batch.events[index].sequenceNumber
            if !orphans.isEmpty, let message = orphans.removeValue(forKey: event) {
                sent[message]?.position = position
            } else if !stored.isEmpty, stored.remove(event) != nil {
                flight.outcomes.note(.delivered, of: index)
            } else {
                waiting.append(Waiting(position: position, isSuspect: false))
            }
        }
        flights[number] = flight
        return Outcome(ended: endIfComplete(number), mayProduce: mayProduce)
    }

    /// Returns the batch of a flight, or nil if the flight has ended.
    func batch(of flight: Int) -> Batch? {
        flights[flight]?.batch
    }

    /// Ends a flight whose time is over. The producer keeps the flight's messages. If events of the flight are not
    /// produced yet, all unproduced events are returned for another attempt, because later events must not overtake
    /// earlier ones.
    mutating func end(_ number: Int, cause: String) -> Outcome {
        guard flights[number] != nil else { return Outcome() }
        var outcome = Outcome()
        if waiting[nextWaiting...].contains(where: { $0.position.flight == number }) { outcome = failWaiting(cause) }
        if let ended = fail(number, cause) { outcome.ended.append(ended) }
        return outcome
    }

    /// Ends a flight with the outcomes of its events so far. Events without an outcome are sent again. The producer
    /// keeps the flight's messages.
    private mutating func fail(_ number: Int, _ cause: String) -> MessageFlights.Ended? {
        guard let flight = flights.removeValue(forKey: number) else { return nil }
        for message in sent.numbers {
            guard let entry = sent[message], entry.position?.flight == number else { continue }
            sent[message]?.position = nil
            orphans[entry.sequenceNumber] = message
        }
        returned = returned.map { entry in
            guard entry.sent.position?.flight == number else { return entry }
            var sent = entry.sent
            sent.position = nil
            return Returned(message: entry.message, sent: sent, report: entry.report)
        }
        return MessageFlights.Ended(number: number, result: flight.outcomes.result(cause: cause))
    }

    /// Returns all events that were not produced yet to the dispatcher, for another attempt.
    ///
    /// Their flights end, even if the producer has messages of them. The returned events must be reported to the
    /// dispatcher before it sends later ones. A message that is alone stays alone until its report.
    mutating func failWaiting(_ cause: String) -> Outcome {
        let positions = waiting[nextWaiting...].map(\.position)
        (waiting, nextWaiting, limit) = ([], 0, nil)
        isRoundFull = isRoundFull && !sent.isEmpty
        var outcome = Outcome()
        for position in positions {
            if let ended = fail(position.flight, cause) { outcome.ended.append(ended) }
        }
        return outcome
    }

    /// Drops all flights without a report. The producer keeps its messages.
    mutating func forgetFlights() {
        for number in flights.keys { _ = end(number, cause: "") }
    }

    // MARK: Producing

    /// True if a producer must be made before the next event.
    var needsProducer: Bool { hasProducerEnded }

    private var needsDraining: Bool { hasProducerEnded && !sent.isEmpty }

    /// Notes that a producer was made.
    mutating func producerMade() { hasProducerEnded = false }

    /// Notes that the producer takes no more messages. It still reports those it has.
    mutating func producerEnded() { hasProducerEnded = true }

    /// True if an event waits that may be produced now.
    var mayProduce: Bool {
        guard nextWaiting < waiting.count, returned.isEmpty, !isRoundFull, !needsDraining else { return false }
        return limit.map { sent.count < $0 } ?? true
    }

    /// Consecutive events of one batch that are to be produced now.
    struct Portion {
        let batch: Batch
        /// The number of the first event's message. The other numbers follow it.
        let firstMessage: Message
        var indices: Range<Int>
    }

    /// Takes the next events that may be produced, at most this many.
    mutating func take(_ most: Int) -> [Portion] {
        var portions: [Portion] = []
        var flight: Int?
        for _ in 0..<most where mayProduce {
            let position = waiting[nextWaiting].position
            if flight != position.flight || portions.last?.indices.upperBound != position.index {
                guard let batch = flights[position.flight]?.batch else { break }
                flight = position.flight
                let indices = position.index..<position.index
                portions.append(Portion(batch: batch, firstMessage: lastMessage + 1, indices: indices))
            }
            let last = portions.count - 1
            produce(portions[last].batch.events[position.index].sequenceNumber)
            portions[last].indices = portions[last].indices.lowerBound..<position.index + 1
        }
        return portions
    }

    /// Moves the next waiting event to the producer.
    private mutating func produce(_ number: SequenceNumber) {
        let entry = waiting[nextWaiting]
        nextWaiting += 1
        if nextWaiting == waiting.count { (waiting, nextWaiting) = ([], 0) }
        lastMessage += 1
        let isAlone = limit == 1 && sent.isEmpty
        sent.append(
            Sent(sequenceNumber: number, position: entry.position, isAlone: isAlone, isSuspect: entry.isSuspect),
            as: lastMessage)
        if let limit, sent.count >= limit { isRoundFull = true }
    }

    // MARK: Reports

    /// Handles the report of a message.
    mutating func report(_ message: Message, _ report: Report) -> Outcome {
        self.report(Reports(messages: message...message, report: report))
    }

    /// Handles the reports of messages.
    mutating func report(_ reports: Reports) -> Outcome {
        let could = mayProduce
        var outcome = Outcome()
        for message in reports.messages { note(reports.report, of: message, &outcome.ended) }
        outcome.mayProduce = mayProduce && !could
        return outcome
    }

    private mutating func note(_ report: Report, of message: Message, _ ended: inout [MessageFlights.Ended]) {
        guard let entry = sent.remove(message) else { return }
        if entry.position == nil { orphans[entry.sequenceNumber] = nil }
        switch report {
        case .stored:
            if let position = entry.position {
                ended += settle(position, .delivered)
            } else {
                stored.insert(entry.sequenceNumber)
            }
        case .refused(let believed) where entry.isAlone:
            if let position = entry.position { ended += settle(position, believed) }
            // Events behind a returned event must not be produced before it.
            if case .retry(let cause, _) = believed { ended += failWaiting(cause).ended }
        case .refused, .failed:
            returned.append(Returned(message: message, sent: entry, report: report))
        }
        if sent.isEmpty { ended += drained() }
    }

    /// Drops the producer with its messages, whose reports will not come.
    mutating func dropAll(_ cause: String?) -> Outcome {
        hasProducerEnded = true
        var outcome = Outcome()
        for message in sent.numbers { outcome.ended += report(message, .failed(cause: cause)).ended }
        outcome.mayProduce = mayProduce
        return outcome
    }

    /// Handles the returned messages once the producer has no message: limits the messages and produces the events
    /// again, or returns the events to the dispatcher.
    private mutating func drained() -> [MessageFlights.Ended] {
        isRoundFull = false
        let back = returned.sorted { $0.message < $1.message }
        returned = []
        let refused = back.count { $0.report.isRefusal }
        guard refused > 0, !back.contains(where: { $0.sent.position == nil }) else {
            if back.isEmpty { widen() }
            return back.isEmpty ? [] : fail(back)
        }
        let again = back.compactMap { entry in
            entry.sent.position.map { Waiting(position: $0, isSuspect: entry.report.isRefusal || entry.sent.isSuspect) }
        }
        waiting = again + waiting[nextWaiting...]
        nextWaiting = 0
        limit = max(1, refused / KafkaFlights.parts)
        return []
    }

    /// Raises the limit after a round in which all messages were stored or judged alone. Removes the limit when no
    /// suspected event waits.
    private mutating func widen() {
        guard let limit else { return }
        self.limit = waiting[nextWaiting...].contains(where: \.isSuspect) ? limit * 2 : nil
    }

    /// Returns all events of the returned messages, and all events that wait behind them, to the dispatcher for another
    /// attempt.
    private mutating func fail(_ back: [Returned]) -> [MessageFlights.Ended] {
        let cause = back.lazy.compactMap(\.report.cause).first ?? "Kafka: cancelled"
        var ended: [MessageFlights.Ended] = []
        for position in back.compactMap(\.sent.position) {
            ended += settle(position, .retry(cause: cause, charged: false))
        }
        return ended + failWaiting(cause).ended
    }

    private mutating func settle(_ position: Position, _ outcome: EventOutcome) -> [MessageFlights.Ended] {
        // In place, because a copy of a flight costs more than all else here.
        guard let flight = flights.index(forKey: position.flight), flights.values[flight].outcomes.lacks(position.index)
        else { return [] }
        flights.values[flight].outcomes.note(outcome, of: position.index)
        return flights.values[flight].outcomes.open == 0 ? endIfComplete(position.flight) : []
    }

    /// Ends a flight if all its events have outcomes.
    /// - Returns: the ended flight, or an empty array.
    private mutating func endIfComplete(_ number: Int) -> [MessageFlights.Ended] {
        guard flights[number]?.outcomes.open == 0, let flight = flights.removeValue(forKey: number) else { return [] }
        return [MessageFlights.Ended(number: number, result: flight.outcomes.result())]
    }

    /// The minimum number of parts in which a refused set is produced again.
    private static let parts = 8
}

extension [KafkaFlights.Reports] {
    /// Adds the report of a message.
    mutating func add(_ report: KafkaFlights.Report, of message: KafkaFlights.Message) {
        if let last = indices.last, self[last].messages.upperBound + 1 == message, self[last].report == report {
            self[last].messages = self[last].messages.lowerBound...message
        } else {
            append(KafkaFlights.Reports(messages: message...message, report: report))
        }
    }
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
    /// The cause of a broker's refusal.
    fileprivate var refusalCause: String? {
        switch self {
        case .delivered, .duplicate: nil
        case .retry(let cause, _), .dead(_, let cause): cause
        }
    }
}
