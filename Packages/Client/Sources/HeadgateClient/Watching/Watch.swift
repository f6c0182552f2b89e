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

/// What happens in the daemon, as it happens: a sequence that ends when its task is cancelled, and never by itself
/// (Protocol, `watch`; Behaviour B10).
///
/// Each loop over it is a watch of its own, which begins with the loop and ends with it, here and at the daemon. When the
/// connection is lost it says so, the connection is made again, and the watch with it.
///
/// Whoever reads slowly gets the latest state and no backlog: what has not been read is merged, topic by topic, so that
/// nothing grows but with the number of dispatchers, barriers and clients. What was not read when the connection went is
/// dropped, since it counts no more.
///
/// A loop ends with a ``ClientError`` when the daemon refuses or does not come back in the time of the options, and with
/// ``ClientError/closed`` when the client is closed.
public struct Watch: AsyncSequence, Sendable {
    /// What is told.
    public typealias Element = WatchUpdate
    /// Why it ended.
    public typealias Failure = any Error

    let client: HeadgateClient
    let topics: [WatchTopic]?

    /// A watch that begins with the first ``Iterator/next()``.
    public func makeAsyncIterator() -> Iterator {
        Iterator(client: client, topics: topics)
    }

    /// One watch; it ends with its last copy.
    public struct Iterator: AsyncIteratorProtocol {
        private let client: HeadgateClient
        private let topics: [WatchTopic]?
        private var reader: WatchReader?
        private var isOver = false

        init(client: HeadgateClient, topics: [WatchTopic]?) {
            self.client = client
            self.topics = topics
        }

        /// The next update; waits for it. Nil when the task is cancelled.
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

/// One watch of a task's. It ends when nobody holds it any more.
final class WatchReader: Sendable {
    /// Where what is told waits to be read. It is touched on the client's actor only.
    let inbox: WatchInbox
    private let client: HeadgateClient
    private let call: ClientConnection.Call

    init(of client: HeadgateClient, _ call: ClientConnection.Call, _ inbox: WatchInbox) {
        self.client = client
        self.call = call
        self.inbox = inbox
    }

    deinit {
        client.submitAbandon([call])
    }
}

/// What a watch has to tell, and who waits for it.
// Unchecked: it lives on the client's actor, but for the stream, which is safe by itself.
final class WatchInbox: @unchecked Sendable {
    var backlog = WatchBacklog()
    /// Has an element when the backlog has; ends with the watch.
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
