import HeadgateData

/// The state of a barrier, for people (Behaviour B10).
public struct BarrierSummary: Sendable, Equatable {
    public var identity: BarrierIdentity
    public var scopes: [BarrierScope]
    /// The state for each dispatcher in scope; nil if the barrier has given none yet (`waiting`, Behaviour B3).
    public var states: [(dispatcher: String, state: BarrierState?)]
    public var isFlushable: Bool
    /// The time of the last change of state.
    public var since: Timestamp
    /// The reason: a text of the operator or owner, or the cause.
    public var reason: String?
    public var configuration: DataObject?

    public static func == (left: BarrierSummary, right: BarrierSummary) -> Bool {
        left.identity == right.identity && left.scopes == right.scopes
            && left.states.elementsEqual(right.states, by: ==) && left.isFlushable == right.isFlushable
            && left.since == right.since && left.reason == right.reason && left.configuration == right.configuration
    }
}

/// The dispatchers that a barrier applies to (Behaviour B4). As a string it is `all` or a dispatcher's id.
public enum BarrierScope: RawRepresentable, Hashable, Sendable {
    /// All dispatchers, including later ones.
    case all
    /// One dispatcher, which need not exist yet.
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

extension BarrierScope {
    /// The scope in the form of settings: a string.
    public var dataItem: DataItem { .string(rawValue) }
}

extension BarrierScope: DataItemConvertible {
    /// Reads a scope from settings; nil if it is not a string.
    public init?(dataItem: DataItem) {
        guard case .string(let text) = dataItem else { return nil }
        self.init(rawValue: text)
    }
}

/// The names of modules that settings and programs share.
public enum Modules {
    /// The ids of modules.
    public enum Types {
        /// The id of the default dispatcher: the only one without settings, and the default scope of the
        /// BatchingBarrier.
        public static let collect = "collect"
    }
}

extension Sequence<BarrierScope> {
    /// Returns true if a dispatcher is in one of the scopes.
    public func cover(_ dispatcherId: String) -> Bool {
        contains { $0 == .all || $0 == .dispatcher(id: dispatcherId) }
    }
}
