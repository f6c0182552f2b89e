/// The sizes of commit groups in bytes of their records (decision 46).
public struct GroupBounds: Sendable {
    /// A group of this size is committed before the end of its turn if the store is idle.
    public var much = 64 << 10
    /// A group of this size is committed before the end of its turn even if the store is busy: larger groups need
    /// memory that the system has to allocate each time. If the store accepts no more, senders are asked to wait.
    public var veryMuch = 512 << 10
    /// The most bytes in the store at one time. A single group may exceed it.
    public var mostCommitting = 4 << 20

    /// Creates bounds that suit machines of all sizes.
    public init() {}
}
