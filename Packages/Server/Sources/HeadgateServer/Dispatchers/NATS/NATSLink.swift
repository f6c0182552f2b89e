import HeadgateCore
import Synchronization

/// What a sender, its connection's thread and libnats's threads know in common: the flights, and what is known of the
/// stream. A batch crosses to the loop once, when its last event has an outcome.
final class NATSLink: Sendable {
    private struct State {
        var flights = NATSFlights()
        var isStreamReady = false
    }

    private let state = Mutex(State())
    private let ended: @Sendable (NATSFlights.Ended) -> Void

    /// - Parameter ended: Called on any thread when a flight is over.
    init(ended: @escaping @Sendable (NATSFlights.Ended) -> Void) {
        self.ended = ended
    }

    func begin(_ flight: Int, events: Int) {
        state.withLock { $0.flights.begin(flight, events: events) }
    }

    func isOpen(_ flight: Int) -> Bool {
        state.withLock { $0.flights.isOpen(flight) }
    }

    /// - Returns: false when the flight is over, and the message need not go.
    func send(_ message: NATSFlights.Message, _ event: Int, of flight: Int) -> Bool {
        state.withLock { $0.flights.send(message, event, of: flight) }
    }

    func answer(_ message: NATSFlights.Message, _ answer: NATSAnswer) {
        let over = state.withLock { state in
            if answer.isStreamInDoubt { state.isStreamReady = false }
            return state.flights.answer(message, answer.outcome)
        }
        if let over { ended(over) }
    }

    /// Ends a flight, because it cannot go or takes too long. Whether the stream is there is looked at again.
    func end(_ flight: Int, cause: String) {
        let over = state.withLock { state in
            state.isStreamReady = false
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

    /// Whether the stream was found, and nothing has spoken against it since.
    var isStreamReady: Bool {
        get { state.withLock { $0.isStreamReady } }
        set { state.withLock { $0.isStreamReady = newValue } }
    }
}
