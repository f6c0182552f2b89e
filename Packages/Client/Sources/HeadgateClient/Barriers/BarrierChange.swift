import HeadgateData

/// What the owner of a barrier says of it anew; nil is left as it is (Behaviour B29).
public struct BarrierChange: Sendable, Equatable {
    /// Its state. One that is said of all dispatchers takes back what was said of single ones.
    public var state: RegisteredBarrier.State?
    /// Why, for people. A state that comes without one has none.
    public var reason: String?
    /// The one dispatcher that state and reason are said of; nil is all.
    public var dispatcher: String?
    /// Whether a flush goes through while it is closed. It is said of the whole barrier.
    public var isFlushable: Bool?

    /// A change of what is given.
    public init(
        _ state: RegisteredBarrier.State? = nil, reason: String? = nil, dispatcher: String? = nil,
        isFlushable: Bool? = nil
    ) {
        self.state = state
        self.reason = reason
        self.dispatcher = dispatcher
        self.isFlushable = isFlushable
    }

    /// The params of `barrier.set`.
    func params(of barrier: String) -> DataObject {
        var params: DataObject = ["id": .string(barrier)]
        params["state"] = state.map { .string($0.rawValue) }
        params["flushable"] = isFlushable.map { .bool($0) }
        params["dispatcher"] = dispatcher.map { .string($0) }
        params["reason"] = reason.map { .string($0) }
        return params
    }
}
