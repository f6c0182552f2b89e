import HeadgateData
import HeadgateTransport

/// The events of ``HeadgateClient/trackSoon(_:)``, until their answers come. Any thread adds events; the client's
/// thread removes them in order.
final class SoonEvents: Sendable {
    /// An event for the client's thread.
    struct Event: Sendable {
        let id: String
        /// The params of `track`.
        let json: [UInt8]
    }

    private struct State {
        var events: [Event] = []
        /// The number of events without an answer, and their bytes.
        var held = (count: 0, bytes: 0)
        /// The number of events that the client dropped because it could not connect.
        var dropped = 0
        var isClosed = false
        var ids = UUIDv7()
    }

    /// The outcome of adding an event.
    enum Taking: Equatable {
        /// The event is kept. The caller must wake the client's thread if it is the first.
        case kept(isFirst: Bool)
        case refused(id: String, ClientError)
    }

    private let state = Guarded(State())
    private let most: (count: Int, bytes: Int)

    /// - Parameter most: the greatest number of unanswered events, and of their bytes.
    init(most: (count: Int, bytes: Int)) {
        self.most = most
    }

    /// Adds an event if there is room. One event always has room.
    func put(_ event: OutgoingEvent, at now: Timestamp) -> Taking {
        let id = event.id ?? state.withLock { $0.ids.next(at: now) }
        var writer = JSONWriter(capacity: 256)
        event.write(into: &writer, id: id)
        let new = Event(id: id, json: writer.bytes)
        return state.withLock { state in
            guard !state.isClosed else { return .refused(id: id, .closed) }
            let bytes = state.held.bytes + new.json.count
            guard state.held.count == 0 || state.held.count < most.count && bytes <= most.bytes else {
                return .refused(id: id, .noRoom)
            }
            state.held = (state.held.count + 1, bytes)
            state.events.append(new)
            return .kept(isFirst: state.events.count == 1)
        }
    }

    /// Removes and returns the events for the client's thread.
    func take() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// Notes that an event is stored, refused or dropped.
    /// - Parameter isDropped: true if the client dropped the event because it could not connect.
    func settled(_ event: Event, isDropped: Bool) {
        state.withLock { state in
            state.held = (state.held.count - 1, state.held.bytes - event.json.count)
            if isDropped { state.dropped += 1 }
        }
    }

    /// Returns the number of events that the client dropped since the last call because it could not connect.
    func takeDropped() -> Int {
        state.withLock { state in
            defer { state.dropped = 0 }
            return state.dropped
        }
    }

    /// Takes no further events.
    func close() {
        state.withLock { $0.isClosed = true }
    }
}
