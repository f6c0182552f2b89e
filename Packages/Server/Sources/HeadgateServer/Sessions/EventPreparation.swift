import HeadgateCore
import HeadgateData
import HeadgateWire

/// What is done with an event between its reading and its storing: transformations (Behaviour P4), then load rules
/// (Behaviour P3). Where neither is configured, events pass by.
final class EventPreparation {
    private let gate: Headgate
    private let fields: TrackedFields
    /// Where is put what transformations wrote.
    private let arena: ByteArena

    init(gate: Headgate, arena: ByteArena) {
        self.gate = gate
        self.arena = arena
        fields = TrackedFields(worker: gate.worker)
    }

    /// What became of an event.
    struct Outcome {
        /// The event with the route that is left to it, valid until the arena is cleared; nil when a transformation
        /// dropped it.
        var event: TrackedEvent?
        /// Transformations that threw.
        var errors = 0
    }

    /// Takes an event through transformations and rules; throws `limit` when it would go to yet another set of
    /// dispatchers, of which there are too many.
    func prepare(_ event: TrackedEvent) throws(RPCError) -> Outcome {
        var outcome = Outcome(event: event)
        if gate.transformsAfterCollectors { outcome = transform(event) }
        guard gate.hasLoadRules, let event = outcome.event else { return outcome }
        fields.event = event
        defer { fields.event = nil }
        do throws(TooManyRoutes) {
            outcome.event?.route = try gate.route(event.route, for: fields)
        } catch {
            throw RPCError(error)
        }
        return outcome
    }

    private func transform(_ event: TrackedEvent) -> Outcome {
        fields.event = event
        defer { fields.event = nil }
        guard let members = fields.members else { return Outcome(event: event) }
        let result = gate.transformAfterCollectors(members)
        guard let document = result.event, result.isChanged else {
            return Outcome(event: result.event == nil ? nil : event, errors: result.errors)
        }
        return Outcome(event: rewrite(event, as: document), errors: result.errors)
    }

    /// The event with what a transformation may have changed put in anew.
    private func rewrite(_ event: TrackedEvent, as document: EventDocument) -> TrackedEvent {
        var json = JSONWriter()
        var ends = [0]
        for item in [
            .string(document.event), .string(document.key ?? ""), .object(document.context), .object(document.data),
        ]
            as [DataItem]
        {
            json.item(item)
            ends.append(json.bytes.count)
        }
        let rewritten = arena.keep(json.bytes)
        let pieces = zip(ends, ends.dropFirst()).map { UnsafeRawBufferPointer(rebasing: rewritten[$0..<$1]) }
        var event = event
        event.name = pieces[0]
        event.key = document.key == nil ? nil : pieces[1]
        event.context = pieces[2]
        event.data = pieces[3]
        return event
    }
}
