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
