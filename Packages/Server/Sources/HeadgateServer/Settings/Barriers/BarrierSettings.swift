import HeadgateCore
import HeadgateData

/// A barrier as the configuration describes it (Behaviour S4).
public struct BarrierSettings: Equatable, Sendable {
    /// The barrier's name: that of its entry.
    public var id: String
    /// Which barrier it is: `kind`, else `barrier_id`, else its name.
    public var kind: String
    /// What it stands before, in the order given. None switches it off; nil leaves it to its factory (Behaviour B4, B5).
    public var scopes: [BarrierScope]?
    /// What it is told, for itself to read.
    public var configuration: DataObject

    /// Its state when its code throws: `on_error` (Behaviour B9).
    public var stateOnError: BarrierState

    public init(
        id: String, kind: String, scopes: [BarrierScope]? = nil, configuration: DataObject = [:],
        stateOnError: BarrierState = .open
    ) {
        self.id = id
        self.kind = kind
        self.scopes = scopes
        self.configuration = configuration
        self.stateOnError = stateOnError
    }
}
