/// What other threads have handed to a loop and it has not yet taken, and how far the loop's life has come.
/// It lives behind a mutex.
struct Inbox: Sendable {
    /// What a loop is asked to run.
    enum Work: Sendable {
        /// A job of an actor or task that has the loop as its executor.
        case job(UnownedJob)
        /// A plain piece of work.
        case closure(@Sendable () -> Void)
    }

    enum Phase: Sendable {
        /// The loop can be woken.
        case open
        /// The loop's thread closes the handles, and takes by itself what still comes.
        case closing
        /// The loop is closed. What comes now is run on a thread of its own.
        case closed
    }

    /// Who must do something about work just handed in.
    enum Duty {
        case nobody
        case wakeLoop
        case startLateThread
    }

    private(set) var phase = Phase.open
    private var work: [Work] = []
    private var isServedLate = false
    private var closeWaiters: [@Sendable () -> Void] = []

    mutating func push(_ new: Work) -> Duty {
        work.append(new)
        switch phase {
        case .open: return work.count == 1 ? .wakeLoop : .nobody
        case .closing: return .nobody
        case .closed:
            guard !isServedLate else { return .nobody }
            isServedLate = true
            return .startLateThread
        }
    }

    /// Exchanges what waits for an empty array, whose room is used again.
    mutating func take(into taken: inout [Work]) {
        swap(&work, &taken)
    }

    mutating func beginClosing() {
        phase = .closing
    }

    /// Ends the loop's life unless work came meanwhile; gives those who wait for the end.
    mutating func close() -> [@Sendable () -> Void]? {
        guard work.isEmpty else { return nil }
        phase = .closed
        defer { closeWaiters = [] }
        return closeWaiters
    }

    /// Whether the late thread may go: nothing came meanwhile.
    mutating func endLateService() -> Bool {
        guard work.isEmpty else { return false }
        isServedLate = false
        return true
    }

    /// Keeps `waiter` for the end of the loop's life; false if that has passed.
    mutating func awaitClose(_ waiter: @escaping @Sendable () -> Void) -> Bool {
        guard phase != .closed else { return false }
        closeWaiters.append(waiter)
        return true
    }
}
