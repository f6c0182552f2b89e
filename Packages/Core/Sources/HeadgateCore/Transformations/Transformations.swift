import HeadgateData

/// The configured transformations and their transformers.
public final class Transformations {
    /// The limits that results must satisfy.
    public var limits = EventLimits() {
        didSet { if limits != oldValue { startOver() } }
    }
    /// An observable of failures, for the log (Behaviour P4).
    public var failures: Observable<TransformationFailure> { failureSubject.observable }
    private let failureSubject = PulseSubject<TransformationFailure>()
    private let counts: EventCounts
    /// The resolver of the rules in `when`.
    private var resolver = RuleResolver()
    private var transformers = NameTable<any Transformer>()
    /// The transformations in the order in which they were set.
    private var settings: [TransformationSettings] = []
    /// The chains in use since the last change, by dispatcher.
    private var chains = NameTable<TransformationChain>()
    @exclusivity(unchecked) private var knownAfterCollectors: TransformationChain?

    init(_ counts: EventCounts) {
        self.counts = counts
    }

    /// Applies other rules.
    func setResolver(_ new: RuleResolver) {
        resolver = new
        startOver()
    }

    /// Registers a transformer, so that transformations can use it.
    public func register(_ transformer: any Transformer, id: String) {
        transformers[id] = transformer
        startOver()
    }

    /// Unregisters a transformer. Transformations that use it have no effect any more.
    public func unregister(id: String) {
        transformers[id] = nil
        startOver()
    }

    /// Adds a transformation (Behaviour P4). One with the same id is replaced and keeps its position. It applies to
    /// events that are stored or sent from now on. Batches in flight are not changed.
    /// - Throws: ``TransformationFault`` if its transformer is not registered, or if `when` has a fault. `when` may
    ///   refer to rules that are set later.
    public func set(_ transformation: TransformationSettings) throws(TransformationFault) {
        guard transformers[transformation.transformerId] != nil else {
            throw .unknownTransformer(transformation.transformerId)
        }
        try check(transformation.when)
        if let index = settings.firstIndex(where: { ExactName($0.id) == ExactName(transformation.id) }) {
            settings[index] = transformation
        } else {
            settings.append(transformation)
        }
        startOver()
    }

    /// Checks the rule in `when`. It may refer to rules that are set later.
    private func check(_ rule: Rule?) throws(TransformationFault) {
        guard let rule, let fault = resolver.fault(in: rule) else { return }
        if case .unknownRule = fault { return }
        throw .rule(fault)
    }

    /// Removes a transformation. Does nothing if there is none with this id.
    public func remove(id: String) {
        settings.removeAll { ExactName($0.id) == ExactName(id) }
        startOver()
    }

    /// The transformations before an event is stored.
    var afterCollectors: TransformationChain {
        if let knownAfterCollectors { return knownAfterCollectors }
        let chain = chain(of: [.afterCollectors])
        knownAfterCollectors = chain
        return chain
    }

    /// True if events are transformed before they are stored. It is read for each event.
    public var areAfterCollectors: Bool { !(knownAfterCollectors?.isEmpty ?? afterCollectors.isEmpty) }

    /// Returns the transformations before an event is sent by a dispatcher.
    func chain(for dispatcher: String) -> TransformationChain {
        if let chain = chains[dispatcher] { return chain }
        let chain = chain(of: [.allDispatchers, .dispatcher(id: dispatcher)])
        chains[dispatcher] = chain
        return chain
    }

    /// Transforms an event before it is stored. Failures are counted and reported.
    /// - Parameter json: the event in the form of its delivery, with the members that are known: `id`, `event`, `time`,
    ///   `received_at`, `key`, `context`, `data`.
    /// - Returns: the transformed event, or nil if the bytes are not an event.
    public func transformAfterCollectors(_ json: [UInt8]) -> TransformedEvent? {
        guard let document = EventDocument(json: json) else { return nil }
        let result = afterCollectors.transform(document, dispatcher: nil)
        report(result)
        return result
    }

    /// Counts and reports the failures of an event's transformations.
    func report(_ result: TransformedEvent) {
        guard !result.failures.isEmpty else { return }
        counts.count(.transformationErrors, result.failures.count)
        for failure in result.failures { failureSubject.send(failure) }
    }

    private func startOver() {
        chains = NameTable()
        knownAfterCollectors = nil
    }

    private func chain(of scopes: Set<TransformationScope>) -> TransformationChain {
        let ordered =
            settings.enumerated()
            .filter { !scopes.isDisjoint(with: $0.element.scopes) }
            .map { (order: $0.element.order ?? Double($0.offset), index: $0.offset, settings: $0.element) }
            .sorted { ($0.order, $0.index) < ($1.order, $1.index) }
            .map(\.settings)
        // A failure before storing is marked in the event's context.
        let skipsMarked = !scopes.contains(.afterCollectors) && settings.contains(where: \.mayMark)
        return TransformationChain(
            steps: ordered.compactMap(step), limits: limits, skipsMarked: skipsMarked)
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

/// The transformations of one scope, in order and resolved.
struct TransformationChain {
    /// One transformation of the chain.
    struct Step {
        let id: String
        let transformer: any Transformer
        let when: When
        /// True if an event that the step cannot transform becomes a dead letter (`on_error`).
        let dropsOnError: Bool
    }

    /// The condition of a step.
    enum When {
        case always
        case rule(ResolvedRule)
        /// The rule has a fault, like a missing rule, so the step is never applied.
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
    /// True if an event may have a mark from a transformation that failed before it was stored.
    let skipsMarked: Bool

    /// True if every event is sent as it is stored.
    var isEmpty: Bool { steps.isEmpty && !skipsMarked }

    /// The member of the context that marks an event as a dead letter for all its dispatchers, because a transformation
    /// failed before it was stored.
    static let mark = "failed_transformation"

    /// Applies all steps to an event, each to the result of the previous one. A step that throws leaves the event
    /// unchanged; the built-in transformer applies all edits that it can (Behaviour P4).
    func transform(_ event: EventDocument, dispatcher: String?) -> TransformedEvent {
        var result = TransformedEvent(event: event)
        if skipsMarked, let id = event.context.get(key: TransformationChain.mark, as: String.self) {
            result.fatal = id
            return result
        }
        for step in steps {
            guard let event = result.event, result.fatal == nil else { break }
            guard step.when.holds(for: event) else { continue }
            let (transformed, errors) = carryOut(step, on: event, dispatcher)
            result.failures += errors.map { TransformationFailure(transformation: step.id, error: $0) }
            result.event = transformed
            if !errors.isEmpty, step.dropsOnError { result.fatal = step.id }
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

/// The result of transforming an event.
public struct TransformedEvent {
    /// The transformed event; nil if it was dropped.
    public var event: EventDocument?
    /// The failures of transformations, in order.
    public var failures: [TransformationFailure] = []
    /// The transformation whose failure makes the event a dead letter; nil if there is none.
    public var fatal: String?

    /// True if the event was changed or dropped.
    public var isChanged: Bool { event?.isTouched ?? true }

    /// The event with a mark that makes it a dead letter for all its dispatchers once it is stored.
    public var marked: EventDocument? {
        guard let fatal else { return event }
        var event = event
        event?.context[TransformationChain.mark] = .string(fatal)
        return event
    }
}

/// A failure of a transformation.
public struct TransformationFailure {
    /// The transformation's id.
    public let transformation: String
    public let error: any Error
}

extension TransformationSettings {
    /// True if the transformation may mark an event before it is stored.
    fileprivate var mayMark: Bool { dropsOnError && scopes.contains(.afterCollectors) }
}
