/// Whom a remote barrier belongs to.
public struct RemoteBarrierOwner: Sendable, Equatable {
    /// Tells owners apart.
    public var number: Int
    /// Who that is, for people: `shop/2.1 (uid 1000, session-7)`.
    public var name: String

    public init(number: Int, name: String) {
        self.number = number
        self.name = name
    }
}
