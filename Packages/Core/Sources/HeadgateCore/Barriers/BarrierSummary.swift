import HeadgateData

/// A barrier as people see it (Behaviour B10).
public struct BarrierSummary: Sendable, Equatable {
    public var identity: BarrierIdentity
    public var scopes: [BarrierScope]
    /// The state for each dispatcher in scope; nil where it has not given one yet (`waiting`, Behaviour B3).
    public var states: [(dispatcher: String, state: BarrierState?)]
    public var isFlushable: Bool
    /// When its state last changed.
    public var since: Timestamp
    /// An operator's or owner's words, or the cause.
    public var reason: String?
    public var configuration: DataObject?

    public static func == (left: BarrierSummary, right: BarrierSummary) -> Bool {
        left.identity == right.identity && left.scopes == right.scopes
            && left.states.elementsEqual(right.states, by: ==) && left.isFlushable == right.isFlushable
            && left.since == right.since && left.reason == right.reason && left.configuration == right.configuration
    }
}

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

extension BarrierScope {
    /// The scope as settings have it: a string.
    public var dataItem: DataItem { .string(rawValue) }
}

extension BarrierScope: DataItemConvertible {
    /// Reads a scope of settings; nil if it is no string.
    public init?(dataItem: DataItem) {
        guard case .string(let text) = dataItem else { return nil }
        self.init(rawValue: text)
    }
}

/// The names of modules that settings and programs share.
public enum Modules {
    /// The ids under which modules are known.
    public enum Types {
        /// The usual dispatcher: the one that there is without any settings, and the default scope of the BatchingBarrier.
        public static let collect = "collect"
    }
}

extension Sequence<BarrierScope> {
    /// Whether a dispatcher is in one of these scopes.
    public func cover(_ dispatcherId: String) -> Bool {
        contains { $0 == .all || $0 == .dispatcher(id: dispatcherId) }
    }
}
