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

    public init(
        id: String, transformerId: String, scopes: [TransformationScope], order: Double? = nil, when: Rule? = nil
    ) {
        self.id = id
        self.transformerId = transformerId
        self.scopes = scopes
        self.order = order
        self.when = when
    }
}
