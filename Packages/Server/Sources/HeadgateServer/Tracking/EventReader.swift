import HeadgateCore
import HeadgateData
import HeadgateWire

/// A reader that turns the params of `track` into events without copying their members.
final class EventReader {
    private let gate: Headgate
    private let events: EventQueue
    /// Holds the IDs that have to be unescaped or made.
    private let arena: ByteArena
    @exclusivity(unchecked) private var ids: UUIDv7
    /// A copy of the names to search for, kept here because each event needs it.
    private let names = Members.names

    /// The most bytes of a time between its quotes, with escapes.
    private static let longestTime = 1024

    /// The declared params of `track`. A test compares them with what this class reads.
    static let members: [Schema.Member] = [
        .required("event", word, "what happened"), .optional("data", .anyObject, "stored unchanged"),
        .optional(
            "id", word, "events with the same id, in one namespace and within the dedupe window, are stored once"),
        .optional("key", word, "events with the same key are delivered in order, even with several batches in flight"),
        .optional("time", .time, "the time at which the event happened; by default the time of receipt"),
        .optional("dispatchers", .array(.name), "the only dispatchers that may get the event"),
        .optional("ttl_ms", .integer(least: 1), "the time to live after the receipt"),
    ]

    private static let word = Schema.string(least: 1, most: Limits.longestWord)

    init(gate: Headgate, arena: ByteArena, ids: UUIDv7) {
        self.gate = gate
        events = gate.events
        self.arena = arena
        self.ids = ids
    }

    /// The members of one event, found in one pass over its params.
    private struct Members {
        private let found: JSONFound

        static let names = JSONNames("event", "data", "id", "key", "time", "dispatchers", "ttl_ms")

        init(_ params: JSONView, _ names: JSONNames) {
            found = params.find(names)
        }

        var event: JSONView? { found[0] }
        var data: JSONView? { found[1] }
        var id: JSONView? { found[2] }
        var key: JSONView? { found[3] }
        var time: JSONView? { found[4] }
        var dispatchers: JSONView? { found[5] }
        var timeToLive: JSONView? { found[6] }
    }

    /// Reads one event. The event is valid as long as the message, and until the arena is cleared.
    /// - Parameters:
    ///   - parent: the path of the params in the message, for errors: empty, or `events[1]`.
    ///   - event: an empty event, which the call fills.
    func read(
        _ params: JSONView?, at parent: @autoclosure () -> String = "", from session: Session,
        into event: inout TrackedEvent
    ) throws(RPCError) {
        func fault(_ name: String, _ message: String) -> RPCError {
            let parent = parent()
            return .invalidParams(path: parent.isEmpty ? name : "\(parent).\(name)", message)
        }
        guard let params else { throw fault("event", "is missing") }
        guard params.kind == .object else { throw .invalidParams(path: parent(), "must be an object") }
        let members = Members(params, names)
        guard let name = members.event else { throw fault("event", "is missing") }
        guard isWord(name) else { throw fault("event", EventReader.wordExpectation) }
        guard members.data?.kind ?? .object == .object else { throw fault("data", "must be an object") }
        guard isWord(members.id) else { throw fault("id", EventReader.wordExpectation) }
        guard isWord(members.key) else { throw fault("key", EventReader.wordExpectation) }
        guard let time = time(members.time) else { throw fault("time", "must be a time in RFC 3339") }
        guard let timeToLive = duration(members.timeToLive) else {
            throw fault("ttl_ms", "must be a whole number of milliseconds, at least 1")
        }
        event.route = try route(members.dispatchers, fault)
        event.id = members.id?.raw ?? makeID()
        if let id = members.id { event.identity = identity(id, session) }
        event.name = name.raw
        event.time = time
        event.key = members.key?.raw
        event.timeToLive = timeToLive
        event.context = session.context.view
        event.data = members.data?.raw ?? EventReader.noData
        event.namespace = session.namespace.number
        event.sender = session.namespace.account
    }

    // MARK: Members

    private static let wordExpectation = "must be a string, not empty and of at most \(Limits.longestWord) bytes"

    /// The JSON `{}`, in static memory.
    private static var noData: UnsafeRawBufferPointer {
        let text: StaticString = "{}"
        return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    private func isWord(_ view: JSONView?) -> Bool {
        guard let view else { return true }
        return view.kind == .string && (1...Limits.longestWord).contains(view.raw.count - 2)
    }

    /// Reads a time. Returns nil if the value is malformed, `.some(nil)` if it is absent.
    private func time(_ view: JSONView?) -> Timestamp?? {
        guard let view else { return .some(nil) }
        guard view.raw.count <= EventReader.longestTime else { return nil }
        guard let contents = view.contents else {
            return view.string.flatMap(Timestamp.init(rfc3339:)).map { .some($0) }
        }
        return Timestamp(rfc3339: contents).map { .some($0) }
    }

    /// Reads a duration in milliseconds. Returns nil if the value is malformed, `.some(nil)` if it is absent.
    private func duration(_ view: JSONView?) -> Duration?? {
        guard let view else { return .some(nil) }
        guard let milliseconds = view.int, milliseconds >= 1 else { return nil }
        return .some(.milliseconds(milliseconds))
    }

    private func route(
        _ view: JSONView?, _ fault: (String, String) -> RPCError
    ) throws(RPCError) -> RouteNumber {
        guard let view else { return gate.dispatchers.routeToAll }
        guard let elements = view.elements else { throw fault("dispatchers", "must be an array of dispatchers' ids") }
        // Each id is looked up (Behaviour X3).
        guard elements.count <= Limits.mostDispatchers else {
            throw fault("dispatchers", "must have at most \(Limits.mostDispatchers) elements")
        }
        var ids: [String] = []
        for (index, element) in elements.enumerated() {
            guard element.kind == .string else { throw fault("dispatchers[\(index)]", "must be a string") }
            // A longer name is not looked up (Behaviour X3).
            guard element.raw.count <= 6 * DispatcherID.longest + 2, let id = element.string else {
                throw fault("dispatchers[\(index)]", "is longer than the id of any dispatcher")
            }
            guard gate.dispatchers.contains(id) else {
                throw fault("dispatchers[\(index)]", "there is no dispatcher \(id)")
            }
            ids.append(id)
        }
        do throws(TooManyRoutes) {
            return try gate.route(narrowedTo: ids) ?? gate.dispatchers.routeToAll
        } catch {
            throw RPCError(error)
        }
    }

    private func identity(_ id: JSONView, _ session: Session) -> TrackedEvent.Identity {
        TrackedEvent.Identity(namespace: session.namespace.bytes.view, id: id.contents ?? unescaped(id))
    }

    private func unescaped(_ id: JSONView) -> UnsafeRawBufferPointer {
        var bytes: [UInt8] = []
        id.appendExact(to: &bytes)
        return arena.keep(bytes)
    }

    private func makeID() -> UnsafeRawBufferPointer {
        let quoted = arena.room(for: UUIDv7.length + 2)
        quoted[0] = UInt8(ascii: "\"")
        ids.next(at: events.receivedAt, into: UnsafeMutableRawBufferPointer(rebasing: quoted[1...]))
        quoted[UUIDv7.length + 1] = UInt8(ascii: "\"")
        return UnsafeRawBufferPointer(quoted)
    }
}

extension RPCError {
    /// Makes the error of an event that would need a new route when there are too many.
    init(_ fault: TooManyRoutes) {
        let limit = "the stored events already have the largest number of different sets of dispatchers"
        self.init(.limit, "\(limit); use fewer combinations in `dispatchers`")
    }
}
