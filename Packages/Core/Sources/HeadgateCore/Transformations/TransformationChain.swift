/// The transformations of one place on the way, in order, ready to be done.
struct TransformationChain {
    /// One transformation.
    struct Step {
        let transformer: any Transformer
        let when: When
    }

    /// Which events a step touches.
    enum When {
        case always
        case rule(ResolvedRule)
        /// Its rule has a fault, like naming a rule that is not there.
        case never

        func holds(for event: EventDocument) -> Bool {
            switch self {
            case .always: true
            case .rule(let rule): rule.holds(for: event)
            case .never: false
            }
        }
    }

    let steps: [Step]

    var isEmpty: Bool { steps.isEmpty }

    /// Takes an event through all steps, each on the previous one's result. What throws leaves it as it was.
    func transform(_ event: EventDocument, dispatcher: String?) -> TransformedEvent {
        var result = TransformedEvent(event: event)
        for step in steps {
            guard let event = result.event else { break }
            guard step.when.holds(for: event) else { continue }
            do {
                let transformed = try step.transformer.transform(event, dispatcher: dispatcher)
                result.event = try TransformationChain.checked(transformed)
            } catch {
                result.errors += 1
            }
        }
        return result
    }

    private static func checked(_ event: EventDocument?) throws(TransformationFault) -> EventDocument? {
        guard let event else { return nil }
        guard !event.isTouched || event.isSound else { throw .notAnEvent }
        return event
    }
}

/// What transformations made of an event.
public struct TransformedEvent {
    /// The event as it goes on; nil when it was dropped.
    public var event: EventDocument?
    /// Transformations that threw.
    public var errors = 0

    /// Whether the event goes on otherwise than it came.
    public var isChanged: Bool { event?.isTouched ?? true }
}
