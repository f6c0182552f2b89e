import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A queue of the messages that arrive on a client's connection. Tests wait for them. Confined to the client's loop.
final class IncomingMessages: ConnectionHandler {
    /// The kind of message to wait for.
    enum Key: Hashable {
        case answer(Int)
        case notification
        /// A request that the server sent.
        case request
    }

    /// The error that the connection has ended, or that the server has sent `line`, which is not a message.
    struct Ended: Error {
        var line: String?
    }

    private var partial: [UInt8] = []
    private var kept: [Key: [DataObject]] = [:]
    private var waiters: [Key: [CheckedContinuation<DataObject, any Error>]] = [:]
    private var end: Ended?

    /// Waits for the next message of a kind, and returns it.
    func next(_ key: Key, isolation: isolated (any Actor)? = #isolation) async throws -> DataObject {
        if let first = kept[key]?.first {
            kept[key]?.removeFirst()
            return first
        }
        if let end { throw end }
        return try await withCheckedThrowingContinuation { waiters[key, default: []].append($0) }
    }

    func count(_ key: Key) -> Int {
        kept[key]?.count ?? 0
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        partial += bytes
        while let length = partial.firstIndex(of: UInt8(ascii: "\n")) {
            take(Array(partial[..<length]))
            partial.removeFirst(length + 1)
        }
    }

    func connectionDidReachEnd(_ connection: Connection) {
        connection.close()
    }

    func connectionDidClose(_ connection: Connection, error: TransportError?) {
        finish(Ended())
    }

    private func take(_ line: [UInt8]) {
        guard let message = try? DataItem(parsing: line), case .object(let object) = message else {
            return finish(Ended(line: String(decoding: line, as: UTF8.self)))
        }
        let key = Self.key(of: object)
        guard waiters[key]?.isEmpty != false else {
            waiters[key]?.removeFirst().resume(returning: object)
            return
        }
        kept[key, default: []].append(object)
    }

    private static func key(of message: DataObject) -> Key {
        guard message["method"] != nil else { return .answer(message.get(key: "id") ?? 0) }
        return message["id"] == nil ? .notification : .request
    }

    /// Ends all present and later waits with an error.
    func timeOut() {
        finish(Ended())
    }

    private func finish(_ end: Ended) {
        self.end = self.end ?? end
        let all = waiters.values.joined()
        waiters = [:]
        for waiter in all { waiter.resume(throwing: end) }
    }
}
