import HeadgateCore
import HeadgateData
import HeadgateWire

/// Takes events in: checks them, gives them to the queue, counts what becomes of them.
final class Tracking {
    private let gate: Headgate
    private let reader: EventReader
    private let collecting: Collecting
    private let preparation: EventPreparation
    /// What is made for the events of one call.
    private let arena = ByteArena()

    init(gate: Headgate, collecting: Collecting) {
        self.gate = gate
        self.collecting = collecting
        reader = EventReader(gate: gate, arena: arena)
        preparation = EventPreparation(gate: gate, arena: arena)
    }

    /// An event on its way to the queue.
    private struct Prepared {
        /// As it came.
        var read: TrackedEvent
        /// As it goes on; nil when a transformation dropped it.
        var event: TrackedEvent?
    }

    // MARK: Taking in

    /// Takes one event in. Its acknowledgement has to wait for ``EventQueue/whenCommitted(_:)``.
    /// - Returns: the event, valid until the next is taken in, and what became of it.
    func track(
        _ params: JSONView?, from session: Session
    ) throws(RPCError) -> (event: TrackedEvent, admission: Admission) {
        if gate.isStopping { throw RPCError(.shuttingDown) }
        arena.clear()
        let prepared = try prepare(params, from: session)
        guard let event = prepared.event else {
            countDropped()
            return (prepared.read, .unrouted)
        }
        let admission = gate.events.admit(event)
        switch admission {
        case .stored, .duplicate, .unrouted: count(admission)
        case .queueFull: throw rejected(1, .queueFull)
        case .tooLarge: throw rejected(1, .tooLarge)
        }
        return (event, admission)
    }

    /// Takes events in, all or none: each is prepared once, and the first is stored when there is room for all
    /// (Behaviour Q4). Their acknowledgement has to wait as that of one.
    /// - Parameter taken: called for each event in their order, once all are taken in; they are valid as long.
    func track(
        all list: [JSONView], from session: Session, taken: (TrackedEvent, Admission) -> Void
    ) throws(RPCError) {
        if gate.isStopping { throw RPCError(.shuttingDown) }
        arena.clear()
        defer { arena.clear() }
        var prepared: [Prepared] = []
        prepared.reserveCapacity(list.count)
        for (index, params) in list.enumerated() {
            prepared.append(try prepare(params, at: "events[\(index)]", from: session))
        }
        var admissions = try admit(prepared).makeIterator()
        for each in prepared {
            guard let event = each.event, let admission = admissions.next() else {
                countDropped()
                taken(each.read, .unrouted)
                continue
            }
            count(admission)
            taken(event, admission)
        }
    }

    private func admit(_ prepared: [Prepared]) throws(RPCError) -> [Admission] {
        do throws(AdmissionRefusal) {
            return try gate.events.admit(all: prepared.compactMap(\.event))
        } catch {
            throw rejected(prepared.count, error)
        }
    }

    /// Reads an event and takes it through all that comes before the queue.
    private func prepare(
        _ params: JSONView?, at place: @autoclosure () -> String = "", from session: Session
    ) throws(RPCError) -> Prepared {
        var read = try reader.read(params, at: place(), from: session)
        read.context = collecting.context(of: session.caller, on: session.context, in: arena)
        let outcome = try preparation.prepare(read)
        gate.board.counters.transformationErrors += outcome.errors
        return Prepared(read: read, event: outcome.event)
    }

    // MARK: Counting

    /// Dropped for all dispatchers: to its client, no dispatcher wants it.
    private func countDropped() {
        gate.board.counters.received += 1
        gate.board.counters.transformedAway += 1
    }

    private func count(_ admission: Admission) {
        gate.board.counters.received += 1
        switch admission {
        case .duplicate: gate.board.counters.duplicates += 1
        case .unrouted: gate.board.counters.unrouted += 1
        case .stored, .queueFull, .tooLarge: break
        }
    }

    private func rejected(_ events: Int, _ refusal: AdmissionRefusal) -> RPCError {
        gate.board.counters.received += events
        gate.board.counters.rejected += events
        return switch refusal {
        case .queueFull: RPCError(.queueFull)
        case .tooLarge: RPCError(.eventTooLarge)
        }
    }

    /// What clients are told whose events could not be stored. The fault itself is for the log: local errors do not
    /// cross the socket.
    func refusal(of events: Int, _ fault: StoreFault) -> RPCError {
        gate.board.counters.rejected += events
        if case .noRoom = fault { return RPCError(.storage, "the event could not be stored: no room") }
        return RPCError(.storage, "the event could not be stored")
    }
}
