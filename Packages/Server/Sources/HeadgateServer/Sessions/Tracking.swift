import HeadgateCore
import HeadgateData
import HeadgateWire

/// Takes events in: checks them, gives them to the queue, counts what becomes of them.
final class Tracking {
    private let gate: Headgate
    private let reader: EventReader
    private let collecting: Collecting
    private let preparation: EventPreparation

    init(gate: Headgate, collecting: Collecting) {
        self.gate = gate
        self.collecting = collecting
        reader = EventReader(gate: gate)
        preparation = EventPreparation(gate: gate)
    }

    /// Takes one event in. Its acknowledgement has to wait for ``EventQueue/whenCommitted(_:)``.
    func track(
        _ params: JSONView?, at place: @autoclosure () -> String = "", from session: Session
    ) throws(RPCError) -> (event: TrackedEvent, admission: Admission) {
        if gate.isStopping { throw RPCError(.shuttingDown) }
        var read = try reader.read(params, at: place(), from: session)
        read.context = collecting.context(of: session.caller, on: session.context)
        let outcome = try preparation.prepare(read)
        gate.board.counters.transformationErrors += outcome.errors
        guard let event = outcome.event else { return transformedAway(read) }
        let admission = gate.events.admit(event)
        gate.board.counters.received += 1
        switch admission {
        case .stored: break
        case .duplicate: gate.board.counters.duplicates += 1
        case .unrouted: gate.board.counters.unrouted += 1
        case .queueFull: throw rejected(RPCError(.queueFull))
        case .tooLarge: throw rejected(RPCError(.eventTooLarge))
        }
        return (event, admission)
    }

    /// Dropped for all dispatchers: to its client, no dispatcher wants it.
    private func transformedAway(_ event: TrackedEvent) -> (event: TrackedEvent, admission: Admission) {
        gate.board.counters.received += 1
        gate.board.counters.transformedAway += 1
        return (event, .unrouted)
    }

    /// Checks an event without taking it in.
    /// - Returns: what it would take in the store, about.
    func check(_ params: JSONView, at place: String, from session: Session) throws(RPCError) -> Int {
        try preparation.prepare(try reader.read(params, at: place, from: session)).event?.approximateByteCount ?? 0
    }

    /// Whether so many events may be taken in together.
    func checkRoom(events: Int, bytes: Int) throws(RPCError) {
        if gate.isStopping { throw RPCError(.shuttingDown) }
        switch gate.events.refusal(events: events, bytes: bytes) {
        case nil, .stored, .duplicate, .unrouted: return
        case .queueFull: throw rejectedAll(events, RPCError(.queueFull))
        case .tooLarge: throw rejectedAll(events, RPCError(.eventTooLarge))
        }
    }

    private func rejectedAll(_ events: Int, _ error: RPCError) -> RPCError {
        gate.board.counters.received += events
        gate.board.counters.rejected += events
        return error
    }

    /// What clients are told whose events could not be stored. The fault itself is for the log: local errors do not
    /// cross the socket.
    func refusal(of events: Int, _ fault: StoreFault) -> RPCError {
        gate.board.counters.rejected += events
        if case .noRoom = fault { return RPCError(.storage, "the event could not be stored: no room") }
        return RPCError(.storage, "the event could not be stored")
    }

    private func rejected(_ error: RPCError) -> RPCError {
        gate.board.counters.rejected += 1
        return error
    }
}
