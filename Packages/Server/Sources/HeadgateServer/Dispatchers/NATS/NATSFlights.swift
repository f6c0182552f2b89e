import HeadgateCore

/// Which events of which batches are without an acknowledgement. Pure.
///
/// A flight is a batch on its way. It is over once each of its events has an outcome; what comes later means nothing.
struct NATSFlights {
    /// A message that a connection has, by its place in memory: nothing else is there until its acknowledgement is told.
    typealias Message = UInt

    /// A flight that is over.
    struct Ended: Sendable, Equatable {
        let number: Int
        let result: SendResult
    }

    private struct Flight {
        var outcomes: [EventOutcome?]
        /// How many outcomes are missing.
        var open: Int
        /// Its messages that have no outcome.
        var messages: Set<Message> = []
    }

    private var flights: [Int: Flight] = [:]
    private var places: [Message: (flight: Int, event: Int)] = [:]

    /// A batch of so many events begins.
    mutating func begin(_ flight: Int, events: Int) {
        flights[flight] = Flight(outcomes: Array(repeating: nil, count: events), open: events)
    }

    /// Whether a flight is not over.
    func isOpen(_ flight: Int) -> Bool {
        flights[flight] != nil
    }

    /// An event of a flight goes out as a message.
    /// - Returns: false when the flight is over, and the message need not go.
    mutating func send(_ message: Message, _ event: Int, of flight: Int) -> Bool {
        guard flights[flight] != nil else { return false }
        flights[flight]?.messages.insert(message)
        places[message] = (flight, event)
        return true
    }

    /// What came of a message.
    /// - Returns: its flight, if that is over with it.
    mutating func answer(_ message: Message, _ outcome: EventOutcome) -> Ended? {
        guard let place = places.removeValue(forKey: message), var flight = flights.removeValue(forKey: place.flight)
        else { return nil }
        flight.messages.remove(message)
        flight.outcomes[place.event] = outcome
        flight.open -= 1
        guard flight.open > 0 else { return Ended(number: place.flight, result: SendResult(flight.outcomes)) }
        flights[place.flight] = flight
        return nil
    }

    /// Ends a flight: events that have no outcome go again.
    mutating func end(_ number: Int, cause: String) -> Ended? {
        guard let flight = flights.removeValue(forKey: number) else { return nil }
        for message in flight.messages { places[message] = nil }
        let again = EventOutcome.retry(cause: cause, charged: false)
        return Ended(number: number, result: SendResult(flight.outcomes.map { $0 ?? again }))
    }

    /// Ends all flights that have messages on their way: their acknowledgements will not come.
    mutating func endSent(cause: String) -> [Ended] {
        let sent = flights.filter { !$0.value.messages.isEmpty }.keys.sorted()
        return sent.compactMap { end($0, cause: cause) }
    }

    /// Forgets all flights.
    mutating func removeAll() {
        flights = [:]
        places = [:]
    }
}

extension SendResult {
    /// The result of a batch whose events all have outcomes: in one word, where they are all the same.
    fileprivate init(_ outcomes: [EventOutcome?]) {
        let outcomes = outcomes.compactMap { $0 }
        switch outcomes.first {
        case .delivered where Set(outcomes).count == 1: self = .delivered
        case .retry(let cause, charged: false) where Set(outcomes).count == 1: self = .noAnswer(cause: cause)
        default: self = .each(outcomes)
        }
    }
}
