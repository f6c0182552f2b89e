/// Changes events on their way (Behaviour P4). A program may bring its own; what the configuration describes is done by
/// ``EditingTransformer``. It is called on the scheduler, and does not wait for anything.
public protocol Transformer {
    /// Gives back the event as it is to go on: changed, as it came, or nil to drop it.
    ///
    /// When this throws, the event goes on as it came, and the error is counted.
    /// - Parameter dispatcher: where the event is about to go; nil before it is stored.
    func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument?
}

/// Where, when and by whom events are transformed (Behaviour P4).
public struct TransformationSettings: Sendable, Equatable {
    /// The transformation's name.
    public var id: String
    /// The transformer that does it, which may do others too.
    public var transformerId: String
    /// Its places on the way; none switches it off.
    public var scopes: [TransformationScope]
    /// Transformations at one place are done in this order; nil is the place in the order in which they were set, from 0.
    public var order: Double?
    /// Which events are touched; nil is all.
    public var when: Rule?
    /// True if an event that it cannot transform becomes a dead letter (`on_error: "drop"`); otherwise such an event goes on.
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

/// Where on an event's way a transformation has its place (Behaviour P4).
public enum TransformationScope: Sendable, Hashable {
    /// Before the event is stored, for all dispatchers.
    case afterCollectors
    /// Just before the event is sent, whichever dispatcher it goes to.
    case allDispatchers
    /// Just before the event is sent by this dispatcher.
    case dispatcher(id: String)
}

extension TransformationScope: RawRepresentable {
    /// `afterCollectors`, `allDispatchers`, or `dispatcher:` and an id; nil for anything else.
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

/// Why an event is not transformed.
public enum TransformationFault: Error, Equatable, Sendable {
    /// No transformer is registered under this id.
    case unknownTransformer(String)
    /// `when` cannot be asked.
    case rule(RuleFault)
    /// `id`, `seq`, `time`, `received_at` and `attempt` stay what they are, and an event is never without a name.
    case cannotBeChanged(EventMember)
    /// A path leads through something that is no object, and no array with such an element.
    case noWay
    /// The event would have no name, an empty key, or something else than an object as its data or context.
    case notAnEvent
    /// The event would be nested deeper than events may be that come in.
    case tooDeep
    /// The event, or its key, would have more bytes than events may have that come in.
    case tooLarge
}

extension TransformationFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknownTransformer(let id): "there is no transformer `\(id)`"
        case .rule(let fault): "its rule: \(fault)"
        case .cannotBeChanged(let member): "`\(member.rawValue)` cannot be changed"
        case .noWay: "a path leads through a value that is no object, or to an element that is not there"
        case .notAnEvent: "the result has no name, an empty key, or other data or context than an object"
        case .tooDeep: "the result is nested deeper than limits.max_depth"
        case .tooLarge: "the result, or its key, is larger than an event that comes in may be"
        }
    }
}
