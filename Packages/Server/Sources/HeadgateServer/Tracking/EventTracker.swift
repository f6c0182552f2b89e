import HeadgateCore
import HeadgateData
import HeadgateWire

/// Receives tracked events: reads them, prepares them, admits them to the queue and counts the outcome.
final class EventTracker {
    private let gate: Headgate
    private let events: EventQueue
    private let reader: EventReader
    private let collecting: ContextCollectors
    private let preparation: EventPreparation
    private let log: Log
    private let refusals: RefusalCounts
    /// Holds the bytes that are made for the events of one call.
    private let arena = ByteArena()

    /// - Parameter ids: makes the IDs of events that come without one.
    init(gate: Headgate, collecting: ContextCollectors, log: Log, ids: UUIDv7) {
        self.gate = gate
        events = gate.events
        self.collecting = collecting
        self.log = log
        refusals = RefusalCounts(scheduler: gate.scheduler, log: log)
        reader = EventReader(gate: gate, arena: arena, ids: ids)
        preparation = EventPreparation(gate: gate, arena: arena)
    }

    /// A tracked event after reading and preparation.
    private struct Prepared {
        /// The prepared event, or the event as the client sent it if a transformation dropped it.
        var event: TrackedEvent
        /// A Boolean value that says whether a transformation dropped the event.
        var isDropped: Bool
    }

    // MARK: Admitting

    /// Tracks one event. The caller must send the acknowledgement only after ``EventQueue/whenCommitted(_:)``.
    /// - Returns: the event's ID, valid until the next call, and the admission.
    func track(
        _ params: JSONView?, from session: Session
    ) throws(RPCError) -> (id: UnsafeRawBufferPointer, admission: Admission) {
        if gate.isStopping { throw RPCError(.shuttingDown) }
        arena.clear()
        var event = TrackedEvent()
        guard try prepare(&event, params, from: session) else {
            countDropped(session)
            return (event.id, .unrouted)
        }
        let admission = events.admit(event)
        switch admission {
        case .stored, .duplicate, .unrouted: counted(admission, session)
        case .queueFull: throw rejected(1, .queueFull, session)
        case .tooLarge: throw rejected(1, .tooLarge, session)
        }
        return (event.id, admission)
    }

    /// Tracks several events, all or none. All events are prepared before the first one is stored, and the first is
    /// stored only if there is room for all (Behaviour Q4). The acknowledgement must wait for
    /// ``EventQueue/whenCommitted(_:)``.
    /// - Parameter taken: called for each event in order, once all are admitted. The events are valid until this call
    ///   ends.
    func track(
        all list: [JSONView], from session: Session, taken: (TrackedEvent, Admission) -> Void
    ) throws(RPCError) {
        if gate.isStopping { throw RPCError(.shuttingDown) }
        arena.clear()
        defer { arena.clear() }
        var prepared: [Prepared] = []
        prepared.reserveCapacity(list.count)
        for (index, params) in list.enumerated() {
            var event = TrackedEvent()
            let isDropped = try !prepare(&event, params, at: "events[\(index)]", from: session)
            prepared.append(Prepared(event: event, isDropped: isDropped))
        }
        var admissions = try admit(prepared, session).makeIterator()
        for each in prepared {
            guard !each.isDropped, let admission = admissions.next() else {
                countDropped(session)
                taken(each.event, .unrouted)
                continue
            }
            counted(admission, session)
            taken(each.event, admission)
        }
    }

    private func admit(_ prepared: [Prepared], _ session: Session) throws(RPCError) -> [Admission] {
        do throws(AdmissionRefusal) {
            return try events.admit(all: prepared.lazy.filter { !$0.isDropped }.map(\.event))
        } catch {
            throw rejected(prepared.count, error, session)
        }
    }

    /// Reads an event, extends its context, and applies transformations and load rules.
    /// - Returns: false if a transformation dropped the event, which then stays as the client sent it.
    private func prepare(
        _ event: inout TrackedEvent, _ params: JSONView?, at place: @autoclosure () -> String = "",
        from session: Session
    ) throws(RPCError) -> Bool {
        try reader.read(params, at: place(), from: session, into: &event)
        if collecting.addsToEach {
            event.context = collecting.context(of: session.caller, on: session.context, in: arena)
        }
        guard preparation.isNeeded else { return true }
        guard let prepared = try preparation.prepare(event) else { return false }
        event = prepared
        return true
    }

    // MARK: Counting

    /// Counts events in the daemon's totals and in the session's.
    private func count(_ counter: EventCounter, _ events: Int = 1, of session: Session) {
        gate.counts.count(counter, events)
        session.events.count(counter, events)
    }

    /// Counts an event that a transformation dropped for all dispatchers. Its client sees it as `unrouted`.
    private func countDropped(_ session: Session) {
        count(.received, of: session)
        gate.counts.count(.transformedAway)
    }

    private func counted(_ admission: Admission, _ session: Session) {
        count(.received, of: session)
        switch admission {
        case .duplicate: count(.duplicates, of: session)
        case .unrouted: count(.unrouted, of: session)
        case .stored, .queueFull, .tooLarge: break
        }
    }

    private func rejected(_ events: Int, _ refusal: AdmissionRefusal, _ session: Session) -> RPCError {
        count(.received, events, of: session)
        count(.rejected, events, of: session)
        let reason: ErrorReason = refusal == .queueFull ? .queueFull : .eventTooLarge
        refusals.count(events, reason: reason.rawValue)
        return RPCError(reason)
    }

    /// Counts and logs events that could not be stored.
    /// - Returns: the client's error, which leaves out the local cause.
    func refusal(of events: Int, from session: Session, _ fault: StoreFault) -> RPCError {
        count(.rejected, events, of: session)
        log.tell(.storeFailed, ["events": .number(DataNumber(events)), "cause": .string(fault.message)])
        if case .noRoom = fault { return RPCError(.storage, "the event could not be stored: no room") }
        return RPCError(.storage, "the event could not be stored")
    }
}

/// Reads the params of `track` into events without copying their members.
final class EventReader {
    private let gate: Headgate
    private let events: EventQueue
    /// Holds the IDs that have to be unescaped or made.
    private let arena: ByteArena
    @exclusivity(unchecked) private var ids: UUIDv7
    /// A copy of the names to search for, kept here because each event needs it.
    private let names = Members.names

    /// The most bytes of an ID or key between its quotes, with escapes.
    static let longestWord = 1024
    /// The most bytes of a time between its quotes, with escapes.
    private static let longestTime = 1024

    /// The declared params of `track`. A test compares them with what this class reads.
    static let members: [Schema.Member] = [
        .required("event", .name, "what happened"), .optional("data", .anyObject, "kept as it is"),
        .optional("id", word, "the same id again, in one namespace and within the dedupe window, is stored once"),
        .optional("key", word, "events of one key are delivered in their order, whatever goes on beside them"),
        .optional("time", .time, "when it happened, if that is not when it is received"),
        .optional("dispatchers", .array(.name), "narrows the dispatchers that may get it"),
        .optional("ttl_ms", .integer(least: 1), "how long after its receipt it is worth delivering"),
    ]

    private static let word = Schema.string(least: 1, most: longestWord)

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
    ///   - place: the path of the params in the message, for errors: empty, or `events[1]`.
    ///   - event: an empty event, which the call fills.
    func read(
        _ params: JSONView?, at place: @autoclosure () -> String = "", from session: Session,
        into event: inout TrackedEvent
    ) throws(RPCError) {
        func fault(_ name: String, _ message: String) -> RPCError {
            let place = place()
            return .invalidParams(path: place.isEmpty ? name : "\(place).\(name)", message)
        }
        guard let params else { throw fault("event", "is missing") }
        guard params.kind == .object else { throw .invalidParams(path: place(), "must be an object") }
        let members = Members(params, names)
        guard let name = members.event else { throw fault("event", "is missing") }
        guard name.kind == .string, name.raw.count > 2 else { throw fault("event", "must be a string, and not empty") }
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
    }

    // MARK: Members

    private static let wordExpectation = "must be a string, not empty and of at most \(longestWord) bytes"

    /// The JSON `{}`, in static memory.
    private static var noData: UnsafeRawBufferPointer {
        let text: StaticString = "{}"
        return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    private func isWord(_ view: JSONView?) -> Bool {
        guard let view else { return true }
        return view.kind == .string && (1...EventReader.longestWord).contains(view.raw.count - 2)
    }

    /// Returns nil if the value is malformed, `.some(nil)` if it is absent.
    private func time(_ view: JSONView?) -> Timestamp?? {
        guard let view else { return .some(nil) }
        guard view.raw.count <= EventReader.longestTime else { return nil }
        guard let contents = view.contents else {
            return view.string.flatMap(Timestamp.init(rfc3339:)).map { .some($0) }
        }
        return Timestamp(rfc3339: contents).map { .some($0) }
    }

    /// Returns nil if the value is malformed, `.some(nil)` if it is absent.
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
            guard element.kind == .string else { throw fault("dispatchers[\(index)]", "must be a string") }
            // A longer name is not looked up (Behaviour X3).
            guard element.raw.count <= 6 * DispatcherID.longest + 2, let id = element.string else {
                throw fault("dispatchers[\(index)]", "there is no dispatcher of so long a name")
            }
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
        self.init(.limit, "the events that are stored go to too many different sets of dispatchers")
    }
}

/// Memory for bytes that are made while events are read. The bytes do not move until ``clear()`` frees them all. The
/// arena keeps its first block, so that a usual event allocates nothing.
final class ByteArena {
    /// The block that ``clear()`` keeps.
    private let first = UnsafeMutableRawBufferPointer.allocate(byteCount: ByteArena.blockSize, alignment: 8)
    @exclusivity(unchecked) private var others: [UnsafeMutableRawBufferPointer] = []
    /// The block that is being filled. ``used`` counts its taken bytes.
    @exclusivity(unchecked) private var last: UnsafeMutableRawBufferPointer
    @exclusivity(unchecked) private var used = 0

    private static let blockSize = 16 * 1024

    init() {
        last = first
    }

    deinit {
        clear()
        first.deallocate()
    }

    /// Returns uninitialized memory for this many bytes.
    @inline(__always)
    func room(for count: Int) -> UnsafeMutableRawBufferPointer {
        if last.count - used < count { addBlock(for: count) }
        let start = used
        used = start + count
        return UnsafeMutableRawBufferPointer(rebasing: last[start..<start + count])
    }

    private func addBlock(for count: Int) {
        last = .allocate(byteCount: max(count, ByteArena.blockSize), alignment: 8)
        others.append(last)
        used = 0
    }

    /// Copies bytes into the arena.
    func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let place = room(for: bytes.count)
        place.copyBytes(from: bytes)
        return UnsafeRawBufferPointer(place)
    }

    /// Frees everything that was allocated since the last call.
    func clear() {
        used = 0
        guard !others.isEmpty else { return }
        for block in others { block.deallocate() }
        others.removeAll()
        last = first
    }
}

/// Bytes whose address does not change while this object lives, so that views of them need no copy.
final class PinnedBytes {
    private let memory: UnsafeMutableRawBufferPointer

    init(_ bytes: [UInt8]) {
        memory = .allocate(byteCount: bytes.count, alignment: 8)
        memory.copyBytes(from: bytes)
    }

    deinit {
        memory.deallocate()
    }

    var view: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(memory)
    }
}
