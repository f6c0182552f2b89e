import HeadgateCore
import HeadgateTransport

/// The account of a sender's batches in flight, which the sender shares with the threads that publish.
protocol FlightAccount: Sendable {
    /// A batch goes out.
    func begin(_ flight: Int, _ batch: Batch)
    /// Ends a flight that takes too long: its events that have no outcome go again.
    func end(_ flight: Int, cause: String)
    /// Forgets all flights; nobody waits for them.
    func forgetFlights()
    /// The dispatcher is about to hear that a flight is over.
    func heard(_ flight: Int)
}

extension FlightAccount {
    func heard(_ flight: Int) {}
}

/// What a sender, its connection's thread and the library's threads know in common: the flights, and what is known of the
/// destination. A batch crosses to the loop once, when its last event has an outcome.
final class MessageLink: FlightAccount {
    private struct State {
        var flights = MessageFlights()
        var isReady = false
        /// Has the events of a flight published that may go by now.
        var publish: (@Sendable (Int) -> Void)?
    }

    private let state = Guarded(State())
    private let ended: @Sendable (MessageFlights.Ended) -> Void

    /// - Parameter ended: Called on any thread when a flight is over.
    init(ended: @escaping @Sendable (MessageFlights.Ended) -> Void) {
        self.ended = ended
    }

    func begin(_ flight: Int, _ batch: Batch) {
        state.withLock { $0.flights.begin(flight, batch) }
    }

    /// What a flight carries; nil when it is over.
    func batch(of flight: Int) -> Batch? {
        state.withLock { $0.flights.batch(of: flight) }
    }

    /// Sets what has events published that were waiting for an older one of their key.
    /// - Parameter publish: called on any thread.
    func onReady(_ publish: @escaping @Sendable (Int) -> Void) {
        state.withLock { $0.publish = publish }
    }

    /// Takes the next event of a flight that may go now, or returns nil if there is none.
    func nextEvent(of flight: Int) -> Int? {
        state.withLock { $0.flights.nextEvent(of: flight) }
    }

    /// - Returns: false when the flight is over, and the message need not go.
    func send(_ message: MessageFlights.Message, _ event: Int, of flight: Int) -> Bool {
        state.withLock { $0.flights.send(message, event, of: flight) }
    }

    /// - Parameter isInDoubt: whether the destination is to be looked at again.
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

    /// Ends a flight, because it cannot go or takes too long. The destination is looked at again.
    func end(_ flight: Int, cause: String) {
        let over = state.withLock { state in
            state.isReady = false
            return state.flights.end(flight, cause: cause)
        }
        if let over { ended(over) }
    }

    /// Ends the flights that wait for acknowledgements, which will not come.
    func endSent(cause: String) {
        for over in state.withLock({ $0.flights.endSent(cause: cause) }) { ended(over) }
    }

    /// Forgets all flights; nobody waits for them.
    func forgetFlights() {
        state.withLock { $0.flights.removeAll() }
    }

    /// Whether the destination was found ready, and nothing has spoken against it since.
    var isReady: Bool {
        get { state.withLock { $0.isReady } }
        set { state.withLock { $0.isReady = newValue } }
    }
}

/// The links of all connections by number. A library is given a number in place of a pointer: its threads may call back
/// when the connection is long destroyed, and then find nothing.
enum MessageLinks {
    private struct State {
        var links: [UInt: MessageLink] = [:]
        var next: UInt = 1
    }

    private static let state = Guarded(State())

    /// Takes in a link and gives it a number.
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

    /// The link that `closure(of:)` stands for; nil when it is gone.
    static func link(_ closure: UnsafeMutableRawPointer?) -> MessageLink? {
        state.withLock { $0.links[UInt(bitPattern: closure)] }
    }

    /// A number in the place of a pointer. Nobody reads what it would point to.
    static func closure(of number: UInt) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: number)
    }
}

/// Which events of which batches are without an acknowledgement. Pure.
///
/// Events of one key go one after the other: the next one goes once the one before it is stored, or dead. So an event that
/// is refused is never stored behind a later one of its key (Behaviour Q2).
///
/// A flight is a batch on its way. It is over once each of its events has an outcome; what comes later means nothing. It alone
/// keeps the batch: however long a library's call takes, what waits for that is no more than is on its way.
struct MessageFlights {
    /// A message that a connection has: its place in memory, where nothing else is until its acknowledgement is told, or a
    /// number.
    typealias Message = UInt

    /// A flight that is over.
    struct Ended: Sendable, Equatable {
        let number: Int
        let result: SendResult
    }

    private struct Flight {
        let batch: Batch
        var outcomes: [EventOutcome?]
        /// How many outcomes are missing.
        var open: Int
        /// Its messages that have no outcome.
        var messages: Set<Message> = []
        /// The events that may go and have not, the next one last.
        var ready: [Int]
        /// By the index of an event that others of its key wait for, the index of the next one.
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
        /// - Returns: true if another event may go now.
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

    /// What follows from an answer.
    enum Answer: Equatable {
        /// A flight is over.
        case ended(Ended)
        /// Another event of a flight may go.
        case ready(Int)
    }

    private var flights: [Int: Flight] = [:]
    private var places: [Message: (flight: Int, event: Int)] = [:]

    /// A batch goes out.
    mutating func begin(_ flight: Int, _ batch: Batch) {
        flights[flight] = Flight(batch)
    }

    /// What a flight carries; nil when it is over.
    func batch(of flight: Int) -> Batch? {
        flights[flight]?.batch
    }

    /// Takes the next event of a flight that may go now, or returns nil if there is none.
    mutating func nextEvent(of flight: Int) -> Int? {
        flights[flight]?.ready.popLast()
    }

    /// An event of a flight goes out as a message.
    /// - Returns: false when the flight is over, and the message need not go.
    mutating func send(_ message: Message, _ event: Int, of flight: Int) -> Bool {
        guard flights[flight] != nil else { return false }
        flights[flight]?.messages.insert(message)
        places[message] = (flight, event)
        return true
    }

    /// What came of a message. Events that wait behind one that goes again go again with it.
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

    mutating func removeAll() {
        flights = [:]
        places = [:]
    }
}

extension SendResult {
    /// The result of a batch whose events all have outcomes: in one word, where they are all the same.
    init(_ outcomes: [EventOutcome?]) {
        let outcomes = outcomes.compactMap { $0 }
        switch outcomes.first {
        case .delivered where Set(outcomes).count == 1: self = .delivered
        case .retry(let cause, charged: false) where Set(outcomes).count == 1: self = .noAnswer(cause: cause)
        default: self = .each(outcomes)
        }
    }
}
