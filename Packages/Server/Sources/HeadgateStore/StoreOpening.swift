import HeadgateCore

/// A store that has been opened.
struct OpenedStore {
    var engine: LogEngine
    var state: StoredState

    /// Reports the events that were found damaged, and the size of the files.
    func report(_ report: ([StoreOutcome]) -> Void) {
        engine.reportLosses(report)
        engine.reportSize(report)
    }
}

extension StoreOptions {
    /// Opens the store of a data directory, which makes one if there is none.
    func open() throws(StoreFault) -> OpenedStore { try LogOpening(self).run() }

    /// Microseconds since 1970: a number that no damaged store has come to. Were the same numbers given again to other events, a
    /// destination might take them for those that it has (Behaviour K1, `Idempotency-Key`).
    var numberAhead: SequenceNumber {
        max(0, SequenceNumber(wall().milliseconds) * 1_000)
    }
}
