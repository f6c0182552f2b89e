import HeadgateCore
import HeadgateData
import HeadgateWire

/// The receiver of tracked events. It reads and prepares them, admits them to the queue and counts the outcomes.
final class EventTracker {
    private let gate: Headgate
    private let events: EventQueue
    private let counts: EventCounts
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
        (events, counts) = (gate.events, gate.counts)
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

    /// The most events of one call for which memory is reserved in advance.
    private static let defaultEvents = 1_024

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
        // A prepared event is much larger than a short event in a message, and most long lists are refused. So no
        // memory is reserved for all of a long list.
        prepared.reserveCapacity(min(list.count, EventTracker.defaultEvents))
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
        _ event: inout TrackedEvent, _ params: JSONView?, at parent: @autoclosure () -> String = "",
        from session: Session
    ) throws(RPCError) -> Bool {
        try reader.read(params, at: parent(), from: session, into: &event)
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
        counts.count(counter, events)
        session.events.count(counter, events)
    }

    /// Counts an event that a transformation dropped for all dispatchers. Its client sees it as `unrouted`.
    private func countDropped(_ session: Session) {
        count(.received, of: session)
        counts.count(.transformedAway)
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
        log.write(.storeFailed, ["events": .number(DataNumber(events)), "cause": .string(fault.message)])
        if case .noRoom = fault { return RPCError(.storage, "the event was not stored: the disk of the store is full") }
        return RPCError(.storage, "the event was not stored: the store failed; the daemon's log has the cause")
    }
}
