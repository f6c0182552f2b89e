extension HeadgateClient {
    /// What happens in the daemon, as it happens (Protocol, `watch`; Behaviour B10).
    ///
    /// ```swift
    /// for try await update in client.watch([.dispatchers]) {
    ///     if case .dispatchers(let dispatchers, _) = update { show(dispatchers) }
    /// }
    /// ```
    /// - Parameter topics: what to watch; nil is all there is, none is refused by the daemon.
    public nonisolated func watch(_ topics: [WatchTopic]? = nil) -> Watch {
        Watch(client: self, topics: topics)
    }

    func beginWatch(_ topics: [WatchTopic]?) -> WatchReader {
        let inbox = WatchInbox()
        return WatchReader(of: self, connection.watch(topics) { inbox.take($0) }, inbox)
    }

    /// The next update of a watch; nil when the task is cancelled.
    func nextUpdate(for reader: WatchReader) async throws -> WatchUpdate? {
        var wakes = reader.inbox.wakes.makeAsyncIterator()
        while true {
            if let update = reader.inbox.backlog.next() { return update }
            guard try await wakes.next() != nil else { return nil }
        }
    }
}
