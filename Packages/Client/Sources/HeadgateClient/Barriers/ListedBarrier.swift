import HeadgateData

/// A barrier as the daemon lists it (Behaviour B10, Protocol `barrier.list`).
public struct ListedBarrier: Sendable, Equatable {
    /// The state of a barrier for a dispatcher.
    public enum State: String, Sendable {
        /// Events pass.
        case open
        /// Events wait.
        case closed
        /// The barrier has not reported a state yet. It counts as closed (Behaviour B3).
        case waiting
    }

    /// The barrier's id.
    public let id: String
    /// The barrier's kind.
    public let kind: String
    /// The ids of the dispatchers in its scope, or `all`. Empty if the barrier is switched off.
    public let scopes: [String]
    /// The barrier's state for each dispatcher in its scope, in the daemon's order.
    public let states: [DispatcherState]
    /// True if a flush passes the barrier while it is closed.
    public let isFlushable: Bool
    /// The time of the last change of its state.
    public let since: Timestamp?
    /// The client that registered the barrier; nil for a barrier of the settings.
    public let owner: String?
    /// The reason word (Behaviour B10).
    public let word: String
    /// The text of an operator or the owner, or the cause; nil if there is none.
    public let reason: String?
    /// The barrier's settings.
    public let configuration: DataObject

    /// The state of the barrier for one dispatcher.
    public struct DispatcherState: Sendable, Equatable {
        /// The dispatcher's id.
        public let dispatcher: String
        /// The state.
        public let state: State
    }

    /// Reads an entry of `barrier.list`. Missing and unknown members are empty.
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

    /// The dispatchers that the barrier blocks, unless they are being flushed.
    public var held: [String] {
        states.filter { $0.state != .open }.map(\.dispatcher)
    }

    /// Reads the member `barriers` of `barrier.list` or `status`. Returns nil if it is absent.
    public static func list(in result: DataObject) -> [ListedBarrier]? {
        result.get(key: "barriers", as: [DataObject].self)?.map(ListedBarrier.init)
    }
}

extension HeadgateClient {
    /// Returns all barriers with the dispatchers that they block and the reasons (Behaviour B10).
    public func barriers(deadline: Duration? = nil) async throws -> [ListedBarrier] {
        let result = try await object("barrier.list", [:], deadline)
        guard let barriers = ListedBarrier.list(in: result) else {
            throw ClientError.badAnswer("the result of barrier.list has no barriers")
        }
        return barriers
    }
}
