/// The dispatchers that a barrier stands before (Behaviour B4). As a string it is `all`, or a dispatcher's id.
public enum BarrierScope: RawRepresentable, Hashable, Sendable {
    /// All dispatchers, also those yet to come.
    case all
    /// One dispatcher. It need not exist yet.
    case dispatcher(id: String)

    public init(rawValue: String) {
        self = rawValue == "all" ? .all : .dispatcher(id: rawValue)
    }

    public var rawValue: String {
        switch self {
        case .all: "all"
        case .dispatcher(let id): id
        }
    }
}

extension Sequence<BarrierScope> {
    /// Whether a dispatcher is in one of these scopes.
    public func cover(_ dispatcherId: String) -> Bool {
        contains { $0 == .all || $0 == .dispatcher(id: dispatcherId) }
    }
}
