extension HeadgateClient {
    /// Watches the daemon's state (Protocol, `watch`; Behaviour B10).
    ///
    /// ```swift
    /// for try await update in client.watch([.dispatchers]) {
    ///     if case .dispatchers(let dispatchers, _) = update { show(dispatchers) }
    /// }
    /// ```
    /// - Parameter topics: the topics; nil is all. The daemon refuses an empty array.
    public nonisolated func watch(_ topics: [WatchTopic]? = nil) -> Watch {
        Watch(client: self, topics: topics)
    }

    func beginWatch(_ topics: [WatchTopic]?) -> WatchReader {
        let inbox = WatchInbox()
        return WatchReader(of: self, connection.watch(topics) { inbox.take($0) }, inbox)
    }

    /// Returns the next update of a watch, or nil if the task is cancelled.
    func nextUpdate(for reader: WatchReader) async throws -> WatchUpdate? {
        var wakes = reader.inbox.wakes.makeAsyncIterator()
        while true {
            if let update = reader.inbox.backlog.next() { return update }
            guard try await wakes.next() != nil else { return nil }
        }
    }
}

/// The changes of the daemon's state, as a sequence that ends when its task is cancelled (Protocol, `watch`;
/// Behaviour B10).
///
/// Each loop is a watch of its own, which begins and ends with the loop. After a lost connection the sequence has an
/// update ``WatchUpdate/interrupted(_:)``, and the watch begins again on the next connection.
///
/// A slow reader gets the latest state and no backlog. Unread updates of a topic are merged, so their number is
/// bounded by the number of dispatchers, barriers and clients. Unread updates of a lost connection are dropped.
///
/// A loop ends with a ``ClientError`` if the daemon refuses the watch or does not come back in the time of the
/// options, and with ``ClientError/closed`` if the client is closed.
public struct Watch: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = WatchUpdate
    /// The error that ends the sequence.
    public typealias Failure = any Error

    let client: HeadgateClient
    let topics: [WatchTopic]?

    /// Creates a watch, which begins with the first ``Iterator/next()``.
    public func makeAsyncIterator() -> Iterator {
        Iterator(client: client, topics: topics)
    }

    /// One watch, which ends with its last copy.
    public struct Iterator: AsyncIteratorProtocol {
        private let client: HeadgateClient
        private let topics: [WatchTopic]?
        private var reader: WatchReader?
        private var isOver = false

        init(client: HeadgateClient, topics: [WatchTopic]?) {
            self.client = client
            self.topics = topics
        }

        /// Waits for the next update. Returns nil if the task is cancelled.
        public mutating func next() async throws -> WatchUpdate? {
            guard !isOver, !Task.isCancelled else { return end() }
            do {
                let reader: WatchReader
                if let known = self.reader { reader = known } else { reader = await client.beginWatch(topics) }
                self.reader = reader
                guard let update = try await client.nextUpdate(for: reader) else { return end() }
                return update
            } catch {
                _ = end()
                throw error
            }
        }

        private mutating func end() -> WatchUpdate? {
            isOver = true
            reader = nil
            return nil
        }
    }
}

/// The watch of a task. It ends when its last reference is gone.
final class WatchReader: Sendable {
    /// The updates that the task has not read. Only the client's actor uses them.
    let inbox: WatchInbox
    private let client: HeadgateClient
    private let call: ClientConnection.Call

    init(of client: HeadgateClient, _ call: ClientConnection.Call, _ inbox: WatchInbox) {
        self.client = client
        self.call = call
        self.inbox = inbox
    }

    deinit {
        client.submitCancel([call])
    }
}

/// The unread updates of a watch, and the signal to its reader.
// Unchecked: only the client's actor uses it, except the stream, which is safe by itself.
final class WatchInbox: @unchecked Sendable {
    var backlog = WatchBacklog()
    /// Has an element while the backlog has one. Ends with the watch.
    let wakes: AsyncThrowingStream<Void, any Error>
    private let wake: AsyncThrowingStream<Void, any Error>.Continuation

    init() {
        (wakes, wake) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func take(_ news: WatchNews) {
        switch news {
        case .began: add(.began)
        case .changed(let params): if let update = WatchUpdate(params) { add(update) }
        case .interrupted(let error): add(.interrupted(error))
        case .ended(let error): wake.finish(throwing: error)
        }
    }

    private func add(_ update: WatchUpdate) {
        backlog.add(update)
        wake.yield()
    }
}
