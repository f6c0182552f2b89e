import HeadgateCore

/// A store that has been opened.
struct OpenedStore {
    /// How it keeps its events: as it was asked for, unless what is stored could not be moved.
    var kind: StoreKind
    var engine: any StoreEngine
    var state: StoredState
    /// Events that were found damaged, and left behind, when what is stored was moved.
    var leftBehind = 0

    var content: StoreContent {
        var state = state
        state.letters = engine.letterTally
        return StoreContent(kind: kind, state: state)
    }

    /// Tells of events that were found damaged, and of what the files take.
    func report(_ report: ([StoreOutcome]) -> Void) {
        if leftBehind > 0 { report([.quarantined(events: leftBehind)]) }
        engine.reportLosses(report)
        engine.reportSize(report)
    }
}

extension StoreOptions {
    /// Opens the store of a data directory, which makes one if there is none. What another kind of store holds is moved first
    /// (Behaviour Q1).
    func open() throws(StoreFault) -> OpenedStore {
        let directory = try DataDirectory(self.directory, on: disk)
        return try StoreMove(options: self, directory: directory).run()
    }

    /// Opens the store of a kind, or makes one.
    /// - Parameter founding: what it begins with if it is made.
    func open(
        _ kind: StoreKind, in directory: DataDirectory, _ founding: Founding = Founding()
    ) throws(StoreFault) -> OpenedStore {
        switch kind {
        case .sqlite:
            let (engine, state) = try StoreDatabase.open(self, in: directory, founding)
            return OpenedStore(kind: kind, engine: engine, state: state)
        case .log:
            let (engine, state) = try LogOpening(options: self, directory: directory, founding: founding).run()
            return OpenedStore(kind: kind, engine: engine, state: state)
        }
    }
}
