/// One run of a barrier and all who wait for it (Behaviour A4). A cycle has the number of its barrier's activation: so each
/// cycle is a generation of its own, and an answer to an earlier one is no answer to it (Behaviour A5).
struct Cycle {
    let identity: CycleIdentity
    /// In the order in which they came. Those who are gone stay in it, and are passed over.
    private(set) var waiters: [Waiter]
    private var present: Int

    /// One who waits, and under which terms.
    struct Waiter {
        let activation: Int
        let barrier: ActivationBarrier
    }

    init(identity: CycleIdentity, first: Waiter) {
        self.identity = identity
        waiters = [first]
        present = 1
    }

    mutating func join(_ waiter: Waiter) {
        waiters.append(waiter)
        present += 1
    }

    /// One who waited is gone.
    /// - Returns: whether nobody waits any more.
    mutating func leave() -> Bool {
        present -= 1
        return present == 0
    }

    /// How long its completion counts at most; nil: not at all.
    var sticky: Duration? {
        identity.isShared ? waiters.lazy.compactMap(\.barrier.sticky).max() : nil
    }
}
