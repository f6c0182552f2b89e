/// What a barrier's owner changes; nil is left as it is (Behaviour B29).
public struct RemoteBarrierChange: Sendable, Equatable {
    public var state: BarrierState?
    /// Holds for the barrier as a whole, also when a dispatcher is named (Behaviour B2).
    public var isFlushable: Bool?
    /// The one dispatcher that state and reason are said of; nil: all, and what was said of single ones is taken back
    /// by a state.
    public var dispatcher: String?
    /// Why, for people. A state that comes without one has none.
    public var reason: String?

    public init(
        state: BarrierState? = nil, isFlushable: Bool? = nil, dispatcher: String? = nil, reason: String? = nil
    ) {
        self.state = state
        self.isFlushable = isFlushable
        self.dispatcher = dispatcher
        self.reason = reason
    }
}
