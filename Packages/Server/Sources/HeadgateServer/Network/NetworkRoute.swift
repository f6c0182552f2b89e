/// A default route over an interface.
struct NetworkRoute: Hashable {
    var interface: Int32
    /// Whether it is in the main table, where routes are unless a policy says otherwise.
    var isMain: Bool
    /// A lower one is preferred.
    var metric: UInt32
}
