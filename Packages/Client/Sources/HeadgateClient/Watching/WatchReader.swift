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
