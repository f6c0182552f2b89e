import HeadgateData
import HeadgateTransport

extension HeadgateClient {
    /// Tracks an event without waiting, from any thread: for loggers, and for code that is not asynchronous.
    ///
    /// The events of one thread keep their order. They are in this process's memory until the daemon has acknowledged
    /// them, so call ``drain(within:)`` or ``close(within:)`` at the end of the program. ``ClientOptions/onDropped``
    /// gets the events that the daemon refuses.
    /// - Returns: false if the event is dropped: as many events or bytes as the options allow are unanswered, or the
    ///   client is closed.
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

    /// Tracks an event without waiting, as ``trackSoon(_:)`` does.
    @discardableResult
    public nonisolated func trackSoon(_ event: String, data: DataObject = [:], id: String? = nil) -> Bool {
        trackSoon(OutgoingEvent(event, data: data, id: id))
    }

    /// Passes the events of ``trackSoon(_:)`` to the connection.
    func takeSoon() {
        for event in soon.take() {
            connection.track(params: event.json) { [soon, options] result in
                var isDropped = false
                if case .failure(ClientError.cannotConnect) = result { isDropped = true }
                soon.settled(event, isDropped: isDropped)
                if case .failure(let error) = result { options.onDropped?(event.id, error) }
            }
        }
    }

    /// Waits until every event that was tracked so far has its outcome, of ``trackSoon(_:)`` and of other tasks.
    /// - Parameter limit: the longest wait.
    /// - Returns: the number of events that are not acknowledged yet.
    @discardableResult
    public func drain(within limit: Duration) async -> Int {
        await drain(within: limit, mostHandlers: nil)
        return connection.unsettledEvents
    }

    /// - Parameter mostHandlers: the number of handlers that may still run; nil for any number.
    func drain(within limit: Duration, mostHandlers: Int?) async {
        takeSoon()
        await withCheckedContinuation { continuation in
            connection.whenDrained(within: limit, mostHandlers: mostHandlers) { continuation.resume() }
        }
    }
}
