import HeadgateCore
import HeadgateData

/// An event as a test describes it. The defaults are a generated id, no key and empty data.
public struct EventDraft {
    public var name: String
    /// The client's own id; nil to have the bench generate one.
    public var id: String?
    /// The namespace of the id (Behaviour Q7).
    public var namespace = "test"
    public var key: String?
    /// The key as a JSON string, for tests of its spelling.
    public var rawKey: String?
    /// The data as JSON, exactly as it is to arrive.
    public var data: String
    /// The context as JSON, exactly as it is to arrive.
    public var context = "{}"
    public var time: Timestamp?
    public var timeToLive: Duration?
    /// The dispatchers that the event is for; nil for all. With an empty array the event is unrouted (Behaviour P3).
    public var dispatchers: [String]?

    public init(
        _ name: String = "order", id: String? = nil, namespace: String = "test", key: String? = nil,
        rawKey: String? = nil, data: String = "{}", timeToLive: Duration? = nil, dispatchers: [String]? = nil
    ) {
        self.name = name
        self.id = id
        self.namespace = namespace
        self.key = key
        self.rawKey = rawKey
        self.data = data
        self.timeToLive = timeToLive
        self.dispatchers = dispatchers
    }

    /// Calls `body` with the event in the form in which the queue takes it.
    /// - Parameter spareId: the id of an event without its own.
    public func withTracked<Result>(
        route: RouteNumber, spareId: String, _ body: (TrackedEvent) -> Result
    ) -> Result {
        let pieces =
            [EventDraft.quoted(id ?? spareId), EventDraft.quoted(name), jsonKey ?? []]
            + [context, data, id ?? "", namespace].map { Array($0.utf8) }
        let ends = pieces.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1.count) }
        return pieces.flatMap { $0 }.withUnsafeBytes { bytes in
            let piece = { UnsafeRawBufferPointer(rebasing: bytes[ends[$0]..<ends[$0 + 1]]) }
            return body(
                TrackedEvent(
                    id: piece(0), identity: id.map { _ in .init(namespace: piece(6), id: piece(5)) }, name: piece(1),
                    time: time, key: jsonKey.map { _ in piece(2) }, timeToLive: timeToLive, context: piece(3),
                    data: piece(4), route: route))
        }
    }

    private var jsonKey: [UInt8]? { rawKey.map { Array($0.utf8) } ?? key.map(EventDraft.quoted) }

    private static func quoted(_ text: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.string(text)
        return writer.bytes
    }
}
