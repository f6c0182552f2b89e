/// A barrier that is being unregistered, and that outlives its connection (Behaviour B29).
struct BarrierEnding {
    /// The persistent call that ends when the daemon has removed the barrier.
    let call: ClientCall
    /// Ends the caller's wait at its deadline.
    let timer: any ClientTimer

    /// The most refusals with `conflict` after which the client tries again. The daemon may still count the barrier as
    /// the earlier connection's. After more refusals, the barrier belongs to another client.
    static let mostConflicts = 10
}
