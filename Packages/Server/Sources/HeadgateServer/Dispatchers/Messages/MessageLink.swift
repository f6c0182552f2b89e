import HeadgateCore
import HeadgateTransport

/// The flights of a sender, which it shares with the threads that publish.
protocol FlightAccount: Sendable {
    /// Begins a flight with a batch.
    func begin(_ flight: Int, _ batch: Batch)
    /// Ends a flight whose time is over. Its events without an outcome are sent again.
    func end(_ flight: Int, cause: String)
    /// Drops all flights without a report.
    func forgetFlights()
    /// Notes that the dispatcher is about to hear that a flight has ended.
    func heard(_ flight: Int)
}

extension FlightAccount {
    func heard(_ flight: Int) {}
}

/// The state that a sender, its publishing thread and the library's threads share: the flights, and the condition of
/// the destination. A batch crosses to the loop once, when its last event has an outcome.
final class MessageLink: FlightAccount {
    private struct State {
        var flights = MessageFlights()
        var isReady = false
        /// Publishes the events of a flight that may be published by now.
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

    /// Takes the next event of a flight that may be published now, or returns nil if there is none.
    func nextEvent(of flight: Int) -> Int? {
        state.withLock { $0.flights.nextEvent(of: flight) }
    }

    /// Notes that an event is about to be published as a message.
    /// - Returns: false if the flight has ended, so that the message must not be sent.
    func send(_ message: MessageFlights.Message, _ event: Int, of flight: Int) -> Bool {
        state.withLock { $0.flights.send(message, event, of: flight) }
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

    /// True if the destination was found ready, and no failure has come since.
    var isReady: Bool {
        get { state.withLock { $0.isReady } }
        set { state.withLock { $0.isReady = newValue } }
    }
}

/// The links of all connections by number. A library gets a number instead of a pointer. Its threads may call back long
/// after the connection is destroyed, and then find no link.
enum MessageLinks {
    private struct State {
        var links: [UInt: MessageLink] = [:]
        var next: UInt = 1
    }

    private static let state = Guarded(State())

    /// Adds a link and returns its number.
    static func add(_ link: MessageLink) -> UInt {
        state.withLock { state in
            let number = state.next
            state.next += 1
            state.links[number] = link
            return number
        }
    }

    static func remove(_ number: UInt) {
        state.withLock { $0.links[number] = nil }
    }

    /// Returns the link of a number that ``closure(of:)`` made a pointer, or nil if the link was removed.
    static func link(_ closure: UnsafeMutableRawPointer?) -> MessageLink? {
        state.withLock { $0.links[UInt(bitPattern: closure)] }
    }

    /// Returns a number in the form of a pointer, which is never followed.
    static func closure(of number: UInt) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: number)
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
    /// The number of a message, or its address, which no other message has until its acknowledgement is handled.
    typealias Message = UInt

    /// A flight that has ended.
    struct Ended: Sendable, Equatable {
        let number: Int
        let result: SendResult
    }

    private struct Flight {
        let batch: Batch
        var outcomes: [EventOutcome?]
        /// The number of events without an outcome.
        var open: Int
        /// The flight's messages without an outcome.
        var messages: Set<Message> = []
        /// The events that may be published now, the next one last.
        var ready: [Int]
        /// The index of the next event of the same key, by the index of the event that it waits for.
        var followers: [Int: Int]

        init(_ batch: Batch) {
            self.batch = batch
            open = batch.events.count
            outcomes = Array(repeating: nil, count: open)
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

        /// Notes an event's outcome.
        /// - Returns: true if another event may be published now.
        mutating func settle(_ event: Int, _ outcome: EventOutcome) -> Bool {
            note(event, outcome)
            guard case .retry(let cause, _) = outcome else {
                guard let next = followers.removeValue(forKey: event) else { return false }
                ready.append(next)
                return true
            }
            var event = event
            while let next = followers.removeValue(forKey: event) {
                note(next, .retry(cause: cause, charged: false))
                event = next
            }
            return false
        }

        private mutating func note(_ event: Int, _ outcome: EventOutcome) {
            outcomes[event] = outcome
            open -= 1
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
    private var places: [Message: (flight: Int, event: Int)] = [:]

    /// Begins a flight with a batch.
    mutating func begin(_ flight: Int, _ batch: Batch) {
        flights[flight] = Flight(batch)
    }

    /// Returns the batch of a flight, or nil if the flight has ended.
    func batch(of flight: Int) -> Batch? {
        flights[flight]?.batch
    }

    /// Takes the next event of a flight that may be published now, or returns nil if there is none.
    mutating func nextEvent(of flight: Int) -> Int? {
        flights[flight]?.ready.popLast()
    }

    /// Notes that an event is about to be published as a message.
    /// - Returns: false if the flight has ended, so that the message must not be sent.
    mutating func send(_ message: Message, _ event: Int, of flight: Int) -> Bool {
        guard flights[flight] != nil else { return false }
        flights[flight]?.messages.insert(message)
        places[message] = (flight, event)
        return true
    }

    /// Handles the outcome of a message. If its event is sent again, so are the events that wait behind it.
    mutating func answer(_ message: Message, _ outcome: EventOutcome) -> Answer? {
        guard let place = places.removeValue(forKey: message), var flight = flights.removeValue(forKey: place.flight)
        else { return nil }
        flight.messages.remove(message)
        let isReady = flight.settle(place.event, outcome)
        guard flight.open > 0 else {
            return .ended(Ended(number: place.flight, result: SendResult(flight.outcomes)))
        }
        flights[place.flight] = flight
        return isReady ? .ready(place.flight) : nil
    }

    /// Ends a flight. Its events without an outcome are sent again.
    mutating func end(_ number: Int, cause: String) -> Ended? {
        guard let flight = flights.removeValue(forKey: number) else { return nil }
        for message in flight.messages { places[message] = nil }
        let again = EventOutcome.retry(cause: cause, charged: false)
        return Ended(number: number, result: SendResult(flight.outcomes.map { $0 ?? again }))
    }

    /// Ends all flights that have messages in flight, because their acknowledgements will not come.
    mutating func endSent(cause: String) -> [Ended] {
        let sent = flights.filter { !$0.value.messages.isEmpty }.keys.sorted()
        return sent.compactMap { end($0, cause: cause) }
    }

    mutating func removeAll() {
        flights = [:]
        places = [:]
    }
}

extension SendResult {
    /// Makes the result of a batch whose events all have outcomes. Equal outcomes become one result for the batch.
    init(_ outcomes: [EventOutcome?]) {
        let outcomes = outcomes.compactMap { $0 }
        switch outcomes.first {
        case .delivered where Set(outcomes).count == 1: self = .delivered
        case .retry(let cause, charged: false) where Set(outcomes).count == 1: self = .noAnswer(cause: cause)
        default: self = .each(outcomes)
        }
    }
}
