/// The work that other threads have submitted to a loop, and the phase of the loop's life. It is protected by a mutex.
struct Inbox: Sendable {
    /// A piece of work.
    enum Work: Sendable {
        /// A job of an actor or task whose executor is the loop.
        case job(UnownedJob)
        /// A closure.
        case closure(@Sendable () -> Void)
    }

    /// The phase of the loop's life. Work is accepted in every phase.
    private enum Phase {
        /// The loop can be woken up. Next: `closing`.
        case open
        /// The loop's thread is closing the handles, and will take new work without being woken up. Next: `closed`,
        /// once there is no work left.
        case closing
        /// The loop is closed, and there is no work. Next: `servedLate`, when work is added.
        case closed
        /// The loop is closed. A separate thread, started for this phase, runs the work. Next: `closed`, once there is
        /// no work left.
        case servedLate
    }

    /// The action that the caller must take after adding work.
    enum Action {
        case wakeNone
        case wakeLoop
        case startLateThread
    }

    private var phase = Phase.open
    private var work: [Work] = []
    private var closeWaiters: [@Sendable () -> Void] = []

    /// True if the loop is closed, so that it runs no more work itself.
    var isClosed: Bool { phase == .closed || phase == .servedLate }

    /// Adds work, in any phase.
    mutating func push(_ new: Work) -> Action {
        work.append(new)
        switch phase {
        case .open: return work.count == 1 ? .wakeLoop : .wakeNone
        case .closing, .servedLate: return .wakeNone
        case .closed:
            phase = .servedLate
            return .startLateThread
        }
    }

    /// Moves the waiting work into `taken`, which must be empty. The memory of `taken` is reused for new work.
    mutating func take(into taken: inout [Work]) {
        swap(&work, &taken)
    }

    mutating func beginClosing() {
        phase = .closing
    }

    /// Closes the inbox unless it has work. Returns the waiters for the close, or nil if there is work.
    mutating func close() -> [@Sendable () -> Void]? {
        guard work.isEmpty else { return nil }
        phase = .closed
        defer { closeWaiters = [] }
        return closeWaiters
    }

    /// Returns true if the thread for late work may end, because there is no work.
    mutating func endLateService() -> Bool {
        guard work.isEmpty else { return false }
        phase = .closed
        return true
    }

    /// Adds a closure to call once the loop is closed. Returns false if the loop is closed already.
    mutating func awaitClose(_ waiter: @escaping @Sendable () -> Void) -> Bool {
        guard !isClosed else { return false }
        closeWaiters.append(waiter)
        return true
    }
}
