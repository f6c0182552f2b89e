import HeadgateCore
import HeadgateData
import HeadgateWire

/// Reads the params of `track` into events, without copying what is in them.
final class EventReader {
    private let gate: Headgate
    /// Where ids are put that do not stand in the message as they are needed.
    private let arena: ByteArena
    private var ids = UUIDv7()

    /// Most bytes of an id or a key as they stand between their quotes.
    static let longestWord = 1024

    /// What this reads, as it is told. A test holds the two together.
    static let members: [Schema.Member] = [
        .required("event", .name, "what happened"), .optional("data", .anyObject, "kept as it is"),
        .optional("id", word, "the same id again, in one namespace and within the dedupe window, is stored once"),
        .optional("key", word, "events of one key are delivered in their order, whatever goes on beside them"),
        .optional("time", .time, "when it happened, if that is not when it is received"),
        .optional("dispatchers", .array(.name), "narrows the dispatchers that may get it"),
        .optional("ttl_ms", .integer(least: 1), "how long after its receipt it is worth delivering"),
    ]

    private static let word = Schema.string(least: 1, most: longestWord)

    init(gate: Headgate, arena: ByteArena) {
        self.gate = gate
        self.arena = arena
    }

    /// The members of one event, found in one pass.
    private struct Members {
        var event: JSONView?
        var data: JSONView?
        var id: JSONView?
        var key: JSONView?
        var time: JSONView?
        var dispatchers: JSONView?
        var timeToLive: JSONView?

        init(_ members: JSONMembers) {
            for (key, value) in members {
                if key.equals("event") {
                    event = value
                } else if key.equals("data") {
                    data = value
                } else if key.equals("id") {
                    id = value
                } else if key.equals("key") {
                    self.key = value
                } else if key.equals("time") {
                    time = value
                } else if key.equals("dispatchers") {
                    dispatchers = value
                } else if key.equals("ttl_ms") {
                    timeToLive = value
                }
            }
        }
    }

    /// Reads one event. It is valid as long as the message, and until the arena is cleared.
    /// - Parameters:
    ///   - place: where the params stand, for errors: empty, or `events[1]`.
    func read(
        _ params: JSONView?, at place: @autoclosure () -> String = "", from session: Session
    ) throws(RPCError) -> TrackedEvent {
        func fault(_ name: String, _ message: String) -> RPCError {
            let place = place()
            return .invalidParams(path: place.isEmpty ? name : "\(place).\(name)", message)
        }
        guard let params, let all = params.members else {
            if params == nil { throw fault("event", "is missing") }
            throw .invalidParams(path: place(), "must be an object")
        }
        let members = Members(all)
        guard let name = members.event else { throw fault("event", "is missing") }
        guard name.kind == .string, name.raw.count > 2 else { throw fault("event", "must be a string, and not empty") }
        guard members.data?.kind ?? .object == .object else { throw fault("data", "must be an object") }
        guard isWord(members.id) else { throw fault("id", EventReader.wordExpectation) }
        guard isWord(members.key) else { throw fault("key", EventReader.wordExpectation) }
        guard let time = time(members.time) else { throw fault("time", "must be a time in RFC 3339") }
        guard let timeToLive = duration(members.timeToLive) else {
            throw fault("ttl_ms", "must be a whole number of milliseconds, at least 1")
        }
        return TrackedEvent(
            id: members.id?.raw ?? makeID(), identity: members.id.map { identity($0, session) }, name: name.raw,
            time: time, key: members.key?.raw, timeToLive: timeToLive, context: session.context.view,
            data: members.data?.raw ?? EventReader.noData, route: try route(members.dispatchers, fault))
    }

    // MARK: Members

    private static let wordExpectation = "must be a string, not empty and of at most \(longestWord) bytes"

    /// Of a static string, which is always there.
    private static var noData: UnsafeRawBufferPointer {
        let text: StaticString = "{}"
        return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    private func isWord(_ view: JSONView?) -> Bool {
        guard let view else { return true }
        return view.kind == .string && (1...EventReader.longestWord).contains(view.raw.count - 2)
    }

    /// Nil: wrong; a nil inside: there is none.
    private func time(_ view: JSONView?) -> Timestamp?? {
        guard let view else { return .some(nil) }
        guard let contents = view.contents else {
            return view.string.flatMap(Timestamp.init(rfc3339:)).map { .some($0) }
        }
        return Timestamp(rfc3339: contents).map { .some($0) }
    }

    /// Nil: wrong; a nil inside: there is none.
    private func duration(_ view: JSONView?) -> Duration?? {
        guard let view else { return .some(nil) }
        guard let milliseconds = view.int, milliseconds >= 1 else { return nil }
        return .some(.milliseconds(milliseconds))
    }

    private func route(
        _ view: JSONView?, _ fault: (String, String) -> RPCError
    ) throws(RPCError) -> RouteNumber {
        guard let view else { return gate.routeToAll }
        guard let elements = view.elements else { throw fault("dispatchers", "must be an array of dispatchers' ids") }
        var ids: [String] = []
        for (index, element) in elements.enumerated() {
            guard let id = element.string else { throw fault("dispatchers[\(index)]", "must be a string") }
            guard gate.hasDispatcher(id) else { throw fault("dispatchers[\(index)]", "there is no dispatcher \(id)") }
            ids.append(id)
        }
        do throws(TooManyRoutes) {
            return try gate.route(narrowedTo: ids) ?? gate.routeToAll
        } catch {
            throw RPCError(error)
        }
    }

    private func identity(_ id: JSONView, _ session: Session) -> TrackedEvent.Identity {
        TrackedEvent.Identity(namespace: session.caller.namespace, id: id.contents ?? unescaped(id))
    }

    private func unescaped(_ id: JSONView) -> UnsafeRawBufferPointer {
        var bytes: [UInt8] = []
        id.appendExact(to: &bytes)
        return arena.keep(bytes)
    }

    private func makeID() -> UnsafeRawBufferPointer {
        let quoted = arena.room(for: UUIDv7.length + 2)
        quoted[0] = UInt8(ascii: "\"")
        ids.next(at: gate.worker.wall, into: UnsafeMutableRawBufferPointer(rebasing: quoted[1...]))
        quoted[UUIDv7.length + 1] = UInt8(ascii: "\"")
        return UnsafeRawBufferPointer(quoted)
    }
}

extension RPCError {
    /// What a client is told whose event would go to yet another set of dispatchers.
    init(_ fault: TooManyRoutes) {
        self.init(.limit, "the events that are stored go to too many different sets of dispatchers")
    }
}
