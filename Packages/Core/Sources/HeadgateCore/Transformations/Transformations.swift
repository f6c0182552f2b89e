import HeadgateData

/// All transformations and who does them.
final class Transformations {
    /// Reads a JSON object, which is left to a library; nil when it is none.
    let readObject: (UnsafeRawBufferPointer) -> DataObject?
    /// Makes what is in `when` ready.
    private var resolver = RuleResolver()
    private var transformers: [String: any Transformer] = [:]
    /// In the order in which they were set.
    private var settings: [TransformationSettings] = []
    /// Chains that were asked for since the last change.
    private var chains: [String: TransformationChain] = [:]
    @exclusivity(unchecked) private var knownAfterCollectors: TransformationChain?

    init(readObject: @escaping (UnsafeRawBufferPointer) -> DataObject?) {
        self.readObject = readObject
    }

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
        return TransformationChain(steps: ordered.compactMap(step))
    }

    private func step(_ transformation: TransformationSettings) -> TransformationChain.Step? {
        guard let transformer = transformers[transformation.transformerId] else { return nil }
        return TransformationChain.Step(transformer: transformer, when: when(transformation.when))
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
