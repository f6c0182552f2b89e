import HeadgateCore

extension StoreScene {
    /// Waits until the store has done what it leaves for idle moments, then closes and opens it: steps are taken after
    /// each turn, so a bounded number of turns is enough.
    func reopenWhenIdle(turns: Int = 40) throws -> StoredState {
        for _ in 0..<turns { write() }
        return try reopen()
    }
}
