import HeadgateData

/// A barrier as the daemon shows it (Behaviour B10, Protocol `barrier.list`).
public struct ListedBarrier: Sendable, Equatable {
    /// Whether a barrier lets a dispatcher's events through.
    public enum State: String, Sendable {
        /// The events get through.
        case open
        /// The events wait.
        case closed
        /// The barrier has not said yet which of the two it is; it counts as closed (Behaviour B3).
        case waiting
    }

    /// The barrier's id.
    public let id: String
    /// The barrier's kind.
    public let kind: String
    /// The dispatchers before which the barrier stands, or `all`; none if it is switched off.
    public let scopes: [String]
    /// Its state for each dispatcher in scope, in the daemon's order.
    public let states: [DispatcherState]
    /// Whether a flush goes through while it is closed.
    public let isFlushable: Bool
    /// When its state last changed.
    public let since: Timestamp?
    /// The client that registered it, if one did.
    public let owner: String?
    /// The reason word (Behaviour B10).
    public let word: String
    /// The words of an operator or the owner, or the cause; nil where there are none.
    public let reason: String?
    /// Its settings.
    public let configuration: DataObject

    /// Its state for one dispatcher.
    public struct DispatcherState: Sendable, Equatable {
        /// The dispatcher's id.
        public let dispatcher: String
        /// Whether its events get through.
        public let state: State
    }

    /// Reads an entry of `barrier.list`. What is missing or not known is taken for empty.
    public init(_ entry: DataObject) {
        id = entry.get(key: "id") ?? ""
        kind = entry.get(key: "kind") ?? ""
        scopes = entry.get(key: "scopes") ?? []
        states = (entry.get(key: "states") ?? DataObject()).map { dispatcher, word in
            let state = word.get(as: String.self).flatMap(State.init(rawValue:))
            return DispatcherState(dispatcher: dispatcher, state: state ?? .waiting)
        }
        isFlushable = entry.get(key: "flushable") ?? false
        since = entry.get(key: "since", as: String.self).flatMap(Timestamp.init(rfc3339:))
        owner = entry.get(key: "owner")
        word = entry.get(key: "word") ?? ""
        reason = entry.get(key: "reason")
        configuration = entry.get(key: "configuration") ?? [:]
    }

    /// The dispatchers that it holds, unless they are being flushed.
    public var held: [String] {
        states.filter { $0.state != .open }.map(\.dispatcher)
    }

    /// Reads the member `barriers` of `barrier.list` or `status`; nil if there is none.
    public static func list(in result: DataObject) -> [ListedBarrier]? {
        result.get(key: "barriers", as: [DataObject].self)?.map(ListedBarrier.init)
    }
}

extension HeadgateClient {
    /// All barriers, with what they hold and why (Behaviour B10).
    public func barriers(deadline: Duration? = nil) async throws -> [ListedBarrier] {
        let result = try await object("barrier.list", [:], deadline)
        guard let barriers = ListedBarrier.list(in: result) else {
            throw ClientError.badAnswer("a result of barrier.list without barriers")
        }
        return barriers
    }
}
