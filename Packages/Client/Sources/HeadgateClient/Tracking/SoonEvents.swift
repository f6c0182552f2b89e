import HeadgateData
import HeadgateTransport

/// Events that were handed over without waiting, until their answers come. Any thread adds to them; the client's thread takes
/// them out in order.
final class SoonEvents: Sendable {
    /// An event on its way to the client's thread.
    struct Event: Sendable {
        let id: String
        /// The params of `track`.
        let json: [UInt8]
    }

    private struct State {
        var events: [Event] = []
        /// The number of events that are not answered, those on their way to the client's thread included, and their bytes.
        var held = (count: 0, bytes: 0)
        var isClosed = false
        var ids = UUIDv7()
    }

    /// What became of an event that was handed over.
    enum Taking: Equatable {
        /// The event is kept. The client's thread has to be told if it is the first that waits.
        case kept(isFirst: Bool)
        case refused(id: String, ClientError)
    }

    private let state = Guarded(State())
    private let most: (count: Int, bytes: Int)

    /// - Parameter most: how many events may be unanswered, and how many bytes they may have.
    init(most: (count: Int, bytes: Int)) {
        self.most = most
    }

    /// Takes an event over, if there is room for it. One event is always let through.
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

    /// Takes out the pending events for the client's thread.
    func take() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// An event that was taken out is answered, or given up.
    func settled(_ event: Event) {
        state.withLock { $0.held = ($0.held.count - 1, $0.held.bytes - event.json.count) }
    }

    /// Takes no further events.
    func close() {
        state.withLock { $0.isClosed = true }
    }
}

extension HeadgateClient {
    /// Tracks an event without waiting for anything: for loggers, and for code that is not asynchronous. From any thread.
    ///
    /// Events keep the order in which one thread hands them over. They are in this process's memory until the daemon has
    /// acknowledged them, so that ``drain(within:)`` or ``close(within:)`` belongs at the end of the program. An event that the
    /// daemon refuses is told to ``ClientOptions/onDropped``.
    /// - Returns: false if the event is dropped: as many events or bytes as the options allow are unanswered, or the client is
    ///   closed.
    @discardableResult
    public nonisolated func trackSoon(_ event: OutgoingEvent) -> Bool {
        switch soon.put(event, at: loop.wallNow) {
        case .kept(let isFirst):
            if isFirst { loop.submit { self.assumeIsolated { $0.takeSoon() } } }
            return true
        case .refused(let id, let error):
            options.onDropped?(id, error)
            return false
        }
    }

    /// Tracks an event without waiting for anything, as ``trackSoon(_:)`` does.
    @discardableResult
    public nonisolated func trackSoon(_ event: String, data: DataObject = [:], id: String? = nil) -> Bool {
        trackSoon(OutgoingEvent(event, data: data, id: id))
    }

    /// Hands the events that were tracked without waiting to the connection.
    func takeSoon() {
        for event in soon.take() {
            connection.track(params: event.json) { [soon, options] result in
                soon.settled(event)
                if case .failure(let error) = result { options.onDropped?(event.id, error) }
            }
        }
    }

    /// Waits until every event that was tracked so far is acknowledged, refused or given up: those of ``trackSoon(_:)``, and those
    /// that other tasks wait for.
    /// - Parameter limit: how long to wait at most.
    /// - Returns: the number of events that are not acknowledged yet.
    @discardableResult
    public func drain(within limit: Duration) async -> Int {
        await drain(within: limit, mostHandlers: nil)
        return connection.unsettledEvents
    }

    /// - Parameter mostHandlers: the number of handlers that may still run in the end; nil is any.
    func drain(within limit: Duration, mostHandlers: Int?) async {
        takeSoon()
        await withCheckedContinuation { continuation in
            connection.whenDrained(within: limit, mostHandlers: mostHandlers) { continuation.resume() }
        }
    }
}
