import HeadgateCore
import HeadgateTransport

/// The batches in flight (flights) of a sender. The sender and the threads that publish share them.
protocol FlightAccount: Sendable {
    /// Begins a flight with a batch.
    func begin(_ flight: Int, _ batch: Batch)
    /// Ends a flight whose time is over. Its events without an outcome are sent again.
    func end(_ flight: Int, cause: String)
    /// Drops all flights without a report.
    func forgetFlights()
    /// Records that the end of a flight is about to be reported to the dispatcher.
    func willEnd(_ flight: Int)
}

extension FlightAccount {
    func willEnd(_ flight: Int) {}
}

/// The state that a sender, its publishing thread and the library's threads share: the flights, and the condition of
/// the destination. The loop gets each batch's result once, when the last event has an outcome.
final class MessageLink: FlightAccount {
    private struct State {
        var flights = MessageFlights()
        var isReady = false
        /// Called when further events of a flight may be published.
        var publish: (@Sendable (Int) -> Void)?
    }

    private let state = Guarded(State())
    private let ended: @Sendable (MessageFlights.Ended) -> Void

    /// - Parameter ended: called on any thread when a flight ends.
    init(ended: @escaping @Sendable (MessageFlights.Ended) -> Void) {
        self.ended = ended
    }

    func begin(_ flight: Int, _ batch: Batch) {
        state.withLock { $0.flights.begin(flight, batch) }
    }

    /// Returns the batch of a flight, or nil if the flight has ended.
    func batch(of flight: Int) -> Batch? {
        state.withLock { $0.flights.batch(of: flight) }
    }

    /// Sets the function that publishes events that waited for an older one of their key.
    /// - Parameter publish: called on any thread.
    func onReady(_ publish: @escaping @Sendable (Int) -> Void) {
        state.withLock { $0.publish = publish }
    }

    /// Takes the next events of a flight that may be published now, at most this many. They count as published.
    func take(_ most: Int, of flight: Int) -> [MessageFlights.Message] {
        state.withLock { $0.flights.take(most, of: flight) }
    }

    /// Handles the outcome of a message.
    /// - Parameter isInDoubt: true if the destination must be checked again.
    func answer(_ message: MessageFlights.Message, _ outcome: EventOutcome, isInDoubt: Bool = false) {
        let (answer, publish) = state.withLock { state in
            if isInDoubt { state.isReady = false }
            return (state.flights.answer(message, outcome), state.publish)
        }
        switch answer {
        case .ended(let over): ended(over)
        case .ready(let flight): publish?(flight)
        case nil: break
        }
    }

    /// Ends a flight that cannot be sent or whose time is over. The destination is checked again.
    func end(_ flight: Int, cause: String) {
        let over = state.withLock { state in
            state.isReady = false
            return state.flights.end(flight, cause: cause)
        }
        if let over { ended(over) }
    }

    /// Ends the flights that wait for acknowledgements, because none will come.
    func endSent(cause: String) {
        for over in state.withLock({ $0.flights.endSent(cause: cause) }) { ended(over) }
    }

    /// Drops all flights without a report.
    func forgetFlights() {
        state.withLock { $0.flights.removeAll() }
    }

    /// True if the destination was found ready, and no failure was reported since.
    var isReady: Bool {
        get { state.withLock { $0.isReady } }
        set { state.withLock { $0.isReady = newValue } }
    }
}

/// The events of batches in flight that have no acknowledgement. A pure value.
///
/// Events of one key are published one after the other: each waits until the one before is stored or dead-lettered. So
/// a refused event is never stored behind a later one of its key (Behaviour Q2).
///
/// A flight is a batch in flight. It ends once each of its events has an outcome, and later reports are ignored. Only
/// the flight keeps the batch, so a slow call of the library keeps no batch in memory longer.
struct MessageFlights {
    /// A message: the event that it carries. An event that is sent again has another flight.
    struct Message: Sendable, Hashable {
        let flight: Int
        /// The event's index in the batch.
        let event: Int
    }

    /// A flight that has ended.
    struct Ended: Sendable, Equatable {
        let number: Int
        let result: SendResult
    }

    private struct Flight {
        let batch: Batch
        var outcomes: BatchOutcomes
        /// The number of published messages without an outcome.
        var sent = 0
        /// The events that may be published now, the next one last.
        var ready: [Int]
        /// The index of the next event of the same key, by the index of the event that it waits for.
        var followers: [Int: Int]

        init(_ batch: Batch) {
            self.batch = batch
            outcomes = BatchOutcomes(of: batch.events.count)
            (ready, followers) = ([], [:])
            var last: [EventKey: Int] = [:]
            for index in batch.events.indices {
                let key = batch.events[index].key
                if let before = key.flatMap({ last.updateValue(index, forKey: $0) }) {
                    followers[before] = index
                } else {
                    ready.append(index)
                }
            }
            ready.reverse()
        }

        mutating func take(_ most: Int) -> [Int] {
            let taken = Array(ready.suffix(most).reversed())
            ready.removeLast(taken.count)
            sent += taken.count
            return taken
        }

        /// Notes the outcome of a published event.
        /// - Returns: true if another event may be published now.
        mutating func settle(_ event: Int, _ outcome: EventOutcome) -> Bool {
            sent -= 1
            outcomes.note(outcome, of: event)
            guard case .retry(let cause, _) = outcome else {
                guard let next = followers.removeValue(forKey: event) else { return false }
                ready.append(next)
                return true
            }
            var event = event
            while let next = followers.removeValue(forKey: event) {
                outcomes.note(.retry(cause: cause, charged: false), of: next)
                event = next
            }
            return false
        }
    }

    /// The effect of an answer.
    enum Answer: Equatable {
        /// A flight has ended.
        case ended(Ended)
        /// Another event of a flight may be published.
        case ready(Int)
    }

    private var flights: [Int: Flight] = [:]

    /// Begins a flight with a batch.
    mutating func begin(_ flight: Int, _ batch: Batch) {
        flights[flight] = Flight(batch)
    }

    /// Returns the batch of a flight, or nil if the flight has ended.
    func batch(of flight: Int) -> Batch? {
        flights[flight]?.batch
    }

    /// Takes the next events of a flight that may be published now, at most this many. They count as published.
    mutating func take(_ most: Int, of flight: Int) -> [Message] {
        (flights[flight]?.take(most) ?? []).map { Message(flight: flight, event: $0) }
    }

    /// Handles the outcome of a message. If its event is sent again, so are the events that wait behind it.
    mutating func answer(_ message: Message, _ outcome: EventOutcome) -> Answer? {
        // In place, because a copy of a flight costs more than all else here.
        guard let index = flights.index(forKey: message.flight), flights.values[index].outcomes.lacks(message.event)
        else { return nil }
        let isReady = flights.values[index].settle(message.event, outcome)
        guard flights.values[index].outcomes.open > 0 else {
            let result = flights.remove(at: index).value.outcomes.result()
            return .ended(Ended(number: message.flight, result: result))
        }
        return isReady ? .ready(message.flight) : nil
    }

    /// Ends a flight. Its events without an outcome are sent again.
    mutating func end(_ number: Int, cause: String) -> Ended? {
        guard let flight = flights.removeValue(forKey: number) else { return nil }
        return Ended(number: number, result: flight.outcomes.result(cause: cause))
    }

    /// Ends all flights that have messages in flight, because their acknowledgements will not come.
    mutating func endSent(cause: String) -> [Ended] {
        let sent = flights.filter { $0.value.sent > 0 }.keys.sorted()
        return sent.compactMap { end($0, cause: cause) }
    }

    mutating func removeAll() {
        flights = [:]
    }
}
