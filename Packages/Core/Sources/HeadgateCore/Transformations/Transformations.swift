import HeadgateData

/// All transformations and who does them.
final class Transformations {
    /// The limits to which results are held.
    var limits = EventLimits() {
        didSet { if limits != oldValue { startOver() } }
    }
    /// Failures, for the log.
    let failures = PulseSubject<TransformationFailure>()
    /// Makes what is in `when` ready.
    private var resolver = RuleResolver()
    private var transformers: [String: any Transformer] = [:]
    /// In the order in which they were set.
    private var settings: [TransformationSettings] = []
    /// Chains that were asked for since the last change.
    private var chains: [String: TransformationChain] = [:]
    @exclusivity(unchecked) private var knownAfterCollectors: TransformationChain?

    /// Other rules are in force from now on.
    func setResolver(_ new: RuleResolver) {
        resolver = new
        startOver()
    }

    func register(_ transformer: any Transformer, id: String) {
        transformers[id] = transformer
        startOver()
    }

    func unregister(_ id: String) {
        transformers[id] = nil
        startOver()
    }

    /// Adds a transformation; one of the same id is replaced, in its place.
    func set(_ transformation: TransformationSettings) throws(TransformationFault) {
        guard transformers[transformation.transformerId] != nil else {
            throw .unknownTransformer(transformation.transformerId)
        }
        try check(transformation.when)
        if let place = settings.firstIndex(where: { $0.id == transformation.id }) {
            settings[place] = transformation
        } else {
            settings.append(transformation)
        }
        startOver()
    }

    /// What a rule names may come later.
    private func check(_ rule: Rule?) throws(TransformationFault) {
        guard let rule, let fault = resolver.fault(in: rule) else { return }
        if case .unknownRule = fault { return }
        throw .rule(fault)
    }

    func remove(_ id: String) {
        settings.removeAll { $0.id == id }
        startOver()
    }

    /// The transformations before an event is stored.
    var afterCollectors: TransformationChain {
        if let knownAfterCollectors { return knownAfterCollectors }
        let chain = chain(of: [.afterCollectors])
        knownAfterCollectors = chain
        return chain
    }

    /// Whether there are any before an event is stored, which is asked for each event.
    var areAfterCollectors: Bool { !(knownAfterCollectors?.isEmpty ?? afterCollectors.isEmpty) }

    /// The transformations before an event is sent by a dispatcher.
    func chain(for dispatcher: String) -> TransformationChain {
        if let chain = chains[dispatcher] { return chain }
        let chain = chain(of: [.allDispatchers, .dispatcher(id: dispatcher)])
        chains[dispatcher] = chain
        return chain
    }

    /// Counts the failures of an event's transformations, and reports them.
    func report(_ result: TransformedEvent, _ counts: EventCounts) {
        guard !result.failures.isEmpty else { return }
        counts.count(.transformationErrors, result.failures.count)
        for failure in result.failures { failures.send(failure) }
    }

    private func startOver() {
        chains = [:]
        knownAfterCollectors = nil
    }

    private func chain(of scopes: Set<TransformationScope>) -> TransformationChain {
        let ordered =
            settings.enumerated()
            .filter { !scopes.isDisjoint(with: $0.element.scopes) }
            .map { (order: $0.element.order ?? Double($0.offset), place: $0.offset, settings: $0.element) }
            .sorted { ($0.order, $0.place) < ($1.order, $1.place) }
            .map(\.settings)
        // An event that failed before it was stored is known by a mark in its context.
        let looksForMarks = !scopes.contains(.afterCollectors) && settings.contains(where: \.mayMark)
        return TransformationChain(
            steps: ordered.compactMap(step), limits: limits, looksForMarks: looksForMarks)
    }

    private func step(_ transformation: TransformationSettings) -> TransformationChain.Step? {
        guard let transformer = transformers[transformation.transformerId] else { return nil }
        return TransformationChain.Step(
            id: transformation.id, transformer: transformer, when: when(transformation.when),
            dropsOnError: transformation.dropsOnError)
    }

    private func when(_ rule: Rule?) -> TransformationChain.When {
        guard let rule else { return .always }
        return (try? resolver.resolve(rule)).map { .rule($0) } ?? .never
    }
}

/// The transformations of one place on the way, in order, ready to be done.
struct TransformationChain {
    /// One transformation.
    struct Step {
        let id: String
        let transformer: any Transformer
        let when: When
        /// True if an event that it cannot transform is a dead letter (`on_error`).
        let dropsOnError: Bool
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
    let limits: EventLimits
    /// True if an event may be marked as one that a transformation before the store has failed on.
    let looksForMarks: Bool

    /// True if every event goes through as it lies in the store.
    var isEmpty: Bool { steps.isEmpty && !looksForMarks }

    /// The member of the context that marks an event which a transformation before the store failed on, and which is a dead
    /// letter for all its dispatchers.
    static let mark = "failed_transformation"

    /// Takes an event through all steps, each on the previous one's result. A step that throws leaves it as it was; a
    /// built-in one does all edits that it can (Behaviour P4).
    func transform(_ event: EventDocument, dispatcher: String?) -> TransformedEvent {
        var result = TransformedEvent(event: event)
        if looksForMarks, let id = event.context.get(key: TransformationChain.mark, as: String.self) {
            result.fatal = id
            return result
        }
        for step in steps {
            guard let event = result.event, result.fatal == nil else { break }
            guard step.when.holds(for: event) else { continue }
            let (transformed, errors) = carryOut(step, on: event, dispatcher)
            result.failures += errors.map { TransformationFailure(transformation: step.id, error: $0) }
            if !errors.isEmpty, step.dropsOnError { result.fatal = step.id } else { result.event = transformed }
        }
        return result
    }

    private func carryOut(
        _ step: Step, on event: EventDocument, _ dispatcher: String?
    ) -> (event: EventDocument?, errors: [any Error]) {
        if let editing = step.transformer as? EditingTransformer {
            let edited = editing.edit(event, limits)
            return (edited.event, edited.faults)
        }
        do {
            return (try checked(try step.transformer.transform(event, dispatcher: dispatcher)), [])
        } catch {
            return (event, [error])
        }
    }

    private func checked(_ event: EventDocument?) throws(TransformationFault) -> EventDocument? {
        guard let event, event.isTouched else { return event }
        if let fault = event.fault(within: limits) { throw fault }
        guard event.json.count <= limits.mostBytes else { throw .tooLarge }
        return event
    }
}

/// What transformations made of an event.
public struct TransformedEvent {
    /// The event as it goes on; nil when it was dropped.
    public var event: EventDocument?
    /// Failures of transformations, in their order.
    public var failures: [TransformationFailure] = []
    /// The transformation whose failure makes the event a dead letter; nil if none did.
    public var fatal: String?

    /// Whether the event goes on otherwise than it came.
    public var isChanged: Bool { event?.isTouched ?? true }

    /// The event with a mark that makes it a dead letter for all its dispatchers: before it is stored it cannot be one.
    public var marked: EventDocument? {
        guard let fatal else { return event }
        var event = event
        event?.context[TransformationChain.mark] = .string(fatal)
        return event
    }
}

/// A failure of a transformation.
public struct TransformationFailure {
    /// The transformation's name.
    public let transformation: String
    public let error: any Error
}

extension TransformationSettings {
    /// True if it may mark an event before that is stored.
    fileprivate var mayMark: Bool { dropsOnError && scopes.contains(.afterCollectors) }
}
