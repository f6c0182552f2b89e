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
