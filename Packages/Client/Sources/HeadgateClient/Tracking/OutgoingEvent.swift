import HeadgateData
import HeadgateWire

/// An event to be tracked.
public struct OutgoingEvent: Sendable, Equatable {
    /// Its name, not empty.
    public var event: String
    /// What there is to say about it.
    public var data: DataObject
    /// The id by which the event is told apart from all others, for ever; nil has the client make one. The daemon
    /// stores an event of an id once (Behaviour Q7).
    public var id: String?
    /// Events of one key are delivered in their order, also where several batches are sent at once (Behaviour Q2).
    public var key: String?
    /// When it happened, if that is not now.
    public var time: Timestamp?
    /// The ids of the dispatchers that it is for; nil is for all that want it.
    public var dispatchers: [String]?
    /// How long after its receipt it is worth delivering, to the millisecond; nil is as long as the store keeps it.
    public var timeToLive: Duration?

    public init(
        _ event: String, data: DataObject = [:], id: String? = nil, key: String? = nil, time: Timestamp? = nil,
        dispatchers: [String]? = nil, timeToLive: Duration? = nil
    ) {
        self.event = event
        self.data = data
        self.id = id
        self.key = key
        self.time = time
        self.dispatchers = dispatchers
        self.timeToLive = timeToLive
    }

    /// Writes it as the params of `track`.
    func write(into writer: inout JSONWriter, id: String) {
        writer.beginObject()
        writer.member("event", event)
        writer.member("id", id)
        if !data.isEmpty { writer.member("data", item: .object(data)) }
        if let key { writer.member("key", key) }
        if let time { writer.member("time", time) }
        if let dispatchers { writer.member("dispatchers", item: .array(dispatchers.map { .string($0) })) }
        if let timeToLive { writer.member("ttl_ms", timeToLive.milliseconds) }
        writer.endObject()
    }
}

/// An event that is there as JSON text, the params of `track`. It is sent as it is, with all its digits and in its
/// order (Behaviour P6); whether its members make sense is for the daemon to say.
public struct EventText: Sendable {
    private let json: [UInt8]
    private let hasID: Bool
    private let hasMembers: Bool
    /// True if the text has an event's name, a string. A text without one is never an event.
    public let hasName: Bool
    /// The id that it gets when it has none; nil: one that is made.
    private var usualID: String?

    /// Why a text is no event.
    public enum Fault: Error, Sendable, Equatable {
        /// The text is not JSON that can be sent.
        case unreadable(JSONFault)
        /// The text is JSON, but no object.
        case noObject
    }

    /// Checks a text of one line.
    public init(_ line: UnsafeRawBufferPointer, scanner: JSONScanner) throws(Fault) {
        let view: JSONView
        do throws(JSONFault) {
            view = try scanner.scan(line)
        } catch {
            throw .unreadable(error)
        }
        guard view.kind == .object else { throw .noObject }
        json = Array(view.raw)
        hasID = view.member("id") != nil
        hasName = view.member("event")?.kind == .string
        hasMembers = view.count > 0
    }

    /// Checks a text of one line.
    public init(_ line: [UInt8], scanner: JSONScanner) throws(Fault) {
        self = try line.withUnsafeBufferPointer { bytes throws(Fault) in
            try EventText(UnsafeRawBufferPointer(bytes), scanner: scanner)
        }
    }

    /// Checks a text of one line, which gets this id if it has none of its own: for who sends it again after a restart.
    public init(_ line: [UInt8], id: String, scanner: JSONScanner) throws(Fault) {
        try self.init(line, scanner: scanner)
        usualID = id
    }

    /// Writes it with the id that it has, else with its usual one, else with one that is made.
    func write(into writer: inout JSONWriter, id: () -> String) {
        guard !hasID else { return writer.raw(json) }
        writer.raw(#"{"id":"#)
        writer.string(usualID ?? id())
        if hasMembers { writer.raw(",") }
        writer.raw(Array(json.dropFirst()))
    }
}
