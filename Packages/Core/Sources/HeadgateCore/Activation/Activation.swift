/// One activation under way.
struct Activation {
    let id: Int
    let request: ActivationRequest
    let purpose: Purpose
    /// How deep it stands before others, at most: the activated board itself is 0 (Behaviour A8). Those for whom that is so
    /// may be gone.
    var depth: Int
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
}
