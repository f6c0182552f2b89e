import HeadgateData

/// A type that transforms events (Behaviour P4). A program may provide its own; ``EditingTransformer`` applies the
/// configured edits. A transformer is called on the scheduler and must not block.
public protocol Transformer {
    /// Returns the transformed event, the unchanged event, or nil to drop it.
    ///
    /// If the function throws, the event continues unchanged, and the error is counted.
    /// - Parameter dispatcher: the dispatcher that is about to send the event; nil before it is stored.
    func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument?
}

/// The settings of a transformation: its transformer, scopes and condition (Behaviour P4).
public struct TransformationSettings: Sendable, Equatable {
    /// The transformation's id.
    public var id: String
    /// The id of the transformer. Several transformations may share it.
    public var transformerId: String
    /// The scopes in which the transformation applies; empty switches it off.
    public var scopes: [TransformationScope]
    /// The position among the transformations of a scope; nil for the index in the order in which they were set, from
    /// 0.
    public var order: Double?
    /// The condition for events to be transformed; nil for all events.
    public var when: Rule?
    /// True if an event that cannot be transformed becomes a dead letter (`on_error: "drop"`). Otherwise the event
    /// continues unchanged.
    public var dropsOnError: Bool

    public init(
        id: String, transformerId: String, scopes: [TransformationScope], order: Double? = nil, when: Rule? = nil,
        dropsOnError: Bool = false
    ) {
        self.id = id
        self.transformerId = transformerId
        self.scopes = scopes
        self.order = order
        self.when = when
        self.dropsOnError = dropsOnError
    }
}

/// The point between receipt and delivery at which a transformation applies (Behaviour P4).
public enum TransformationScope: Sendable, Hashable {
    /// Before the event is stored, for all dispatchers.
    case afterCollectors
    /// Just before the event is sent, by any dispatcher.
    case allDispatchers
    /// Just before the event is sent by this dispatcher.
    case dispatcher(id: String)
}

extension TransformationScope {
    /// Scopes are equal if their names have the same bytes. Swift's strings are equal if they look the same.
    public static func == (left: TransformationScope, right: TransformationScope) -> Bool {
        ExactName(left.rawValue) == ExactName(right.rawValue)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactName(rawValue))
    }
}

extension TransformationScope: RawRepresentable {
    /// Creates a scope from `afterCollectors`, `allDispatchers`, or `dispatcher:` and an id; nil for any other text.
    public init?(rawValue: String) {
        let prefix = "dispatcher:"
        switch rawValue {
        case "afterCollectors": self = .afterCollectors
        case "allDispatchers": self = .allDispatchers
        case let text where text.hasPrefix(prefix) && text != prefix:
            self = .dispatcher(id: String(text.dropFirst(prefix.count)))
        default: return nil
        }
    }

    public var rawValue: String {
        switch self {
        case .afterCollectors: "afterCollectors"
        case .allDispatchers: "allDispatchers"
        case .dispatcher(let id): "dispatcher:\(id)"
        }
    }
}

/// The fault of a transformation: in its settings, or in its result for an event.
public enum TransformationFault: Error, Equatable, Sendable {
    /// No transformer is registered under this id.
    case unknownTransformer(String)
    /// The rule in `when` has a fault.
    case rule(RuleFault)
    /// The member cannot be changed: `id`, `seq`, `time`, `received_at` and `attempt` are fixed, and an event must have
    /// a name.
    case cannotBeChanged(EventMember)
    /// A path leads through a value that is neither an object nor an array with such an element.
    case noPath
    /// The result has no name, an empty key, or data or context that is not an object.
    case notAnEvent
    /// The result is nested deeper than tracked events may be.
    case tooDeep
    /// The result or its key is larger than tracked events may be.
    case tooLarge
}

extension TransformationFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknownTransformer(let id): "there is no transformer `\(id)`"
        case .rule(let fault): "its rule: \(fault)"
        case .cannotBeChanged(let member): "`\(member.rawValue)` cannot be changed"
        case .noPath: "a path leads through a value that is not an object, or to a missing element"
        case .notAnEvent: "the result has no name, an empty key, or data or context that is not an object"
        case .tooDeep: "the result is nested deeper than limits.max_depth"
        case .tooLarge: "the result or its key is larger than a tracked event may be"
        }
    }
}
