/// A barrier that is being unregistered, and that outlives its connection (Behaviour B29).
struct BarrierEnding {
    /// The persistent call that ends when the daemon has removed the barrier.
    let call: ClientCall
    /// Ends the caller's wait at its deadline.
    let timer: any ClientTimer

    /// The number of conflicts that are repeated. The daemon may still take the barrier for that of the earlier
    /// connection. If it belongs to another client, this client must leave it alone.
    static let mostConflicts = 10
}
