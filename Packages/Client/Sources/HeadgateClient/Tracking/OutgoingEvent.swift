import HeadgateData
import HeadgateWire

/// An event to track.
public struct OutgoingEvent: Sendable, Equatable {
    /// The name, not empty.
    public var event: String
    /// The event's data.
    public var data: DataObject
    /// The id that identifies the event for ever; nil has the client generate one. The daemon stores an event of an
    /// id once (Behaviour Q7).
    public var id: String?
    /// The event's key. Events of one key are delivered in their order, even when several batches are in flight
    /// (Behaviour Q2).
    public var key: String?
    /// The time of the event; nil is the time of its receipt.
    public var time: Timestamp?
    /// The ids of the event's dispatchers; nil is all that take it.
    public var dispatchers: [String]?
    /// The time after its receipt in which it is delivered, in whole milliseconds; nil is the store's own limit.
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

    /// Writes the event as the params of `track`.
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

/// An event as JSON text, the params of `track`. The client sends it as it is, with all digits and members in order
/// (Behaviour P6). The daemon checks its members.
public struct EventText: Sendable {
    private let json: [UInt8]
    private let hasID: Bool
    private let hasMembers: Bool
    /// True if the text has a name, which is a string. A text without one is never an event.
    public let hasName: Bool
    /// The id for a text without one; nil has the client generate one.
    public private(set) var generatedID: String?

    /// The reason why a text is no event.
    public enum Fault: Error, Sendable, Equatable {
        /// The text is not JSON that can be sent.
        case unreadable(JSONFault)
        /// The text is JSON, but not an object.
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

    /// Checks a text of one line, and gives it this id if it has none. The same id can be sent again after a restart.
    public init(_ line: [UInt8], id: String, scanner: JSONScanner) throws(Fault) {
        try self.init(line, scanner: scanner)
        generatedID = id
    }

    /// Writes the text with its own id, else with its usual id, else with a generated one.
    func write(into writer: inout JSONWriter, id: () -> String) {
        guard !hasID else { return writer.raw(json) }
        writer.raw(#"{"id":"#)
        writer.string(generatedID ?? id())
        if hasMembers { writer.raw(",") }
        writer.raw(Array(json.dropFirst()))
    }
}
