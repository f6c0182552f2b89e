/// One activation under way.
struct Activation {
    let id: Int
    let request: ActivationRequest
    let purpose: Purpose
    /// The boards from the one that was activated at first to this one: its barrier, that one's barrier, and so on.
    let path: [String]
    var stage = Stage.unserved
    /// The barriers that are still before it, the next one first.
    var barriers: ArraySlice<ActivationBarrier> = []
    /// What has completed for it.
    var completed: Set<CycleIdentity> = []

    /// Whom its end is told.
    enum Purpose {
        /// Whoever asked.
        case asker
        /// The cycle of the same number, whose barrier it is.
        case cycle
    }

    /// What it waits for.
    enum Stage: Equatable {
        /// For a process that serves the board.
        case unserved
        /// For this cycle of a barrier.
        case held(cycle: Int)
        /// For the answer of this process.
        case running(run: Int, provider: Int)
    }

    /// The activated board itself is 0 (Behaviour A8).
    var depth: Int { path.count - 1 }
}
