/// Small values that are saved by name, across restarts.
final class StoredValues {
    private var all: [String: [UInt8]]
    private let settlements: Settlements

    init(_ stored: [String: [UInt8]], settlements: Settlements) {
        all = stored
        self.settlements = settlements
    }

    subscript(name: String) -> [UInt8]? { all[name] }

    /// The names of all saved values.
    var names: [String] { Array(all.keys) }

    /// Saves a value; nil deletes it. `then` is called once the change is written.
    func keep(_ bytes: [UInt8]?, as name: String, then: @escaping (StoreFault?) -> Void) {
        all[name] = bytes
        settlements.add(.keep(name, bytes))
        settlements.whenWritten(then)
    }

    // MARK: Pauses

    /// Returns the operator's pause setting of a dispatcher (Behaviour B23).
    func pause(of dispatcher: String) -> ManualBarrier.Setting {
        guard let bytes = all[StoredValues.pauseName(dispatcher)] else { return ManualBarrier.Setting() }
        return ManualBarrier.Setting(kept: bytes)
    }

    func keepPause(
        _ setting: ManualBarrier.Setting, of dispatcher: String, then: @escaping (StoreFault?) -> Void
    ) {
        keep(setting.isPaused ? setting.kept : nil, as: StoredValues.pauseName(dispatcher), then: then)
    }

    /// Deletes the pause setting of a removed dispatcher (Behaviour B23).
    func endPause(of dispatcher: String) {
        let name = StoredValues.pauseName(dispatcher)
        guard all[name] != nil else { return }
        all[name] = nil
        settlements.add(.keep(name, nil))
    }

    private static func pauseName(_ dispatcher: String) -> String { "pause:\(dispatcher)" }
}

/// A recorder that saves the age scale's stamp together with the clocks, so that the scale continues after a restart
/// (Behaviour P7).
///
/// It saves at the start, with the first events as well, once a minute, at an orderly stop, and at the beginning of the end of a turn if the wall
/// clock was set. Otherwise the correction of a wrong clock would look like time that passed while the machine was off.
/// A wall time that counts as not set is not saved.
final class ClockRecorder {
    private let events: EventQueue
    private let settlements: Settlements
    /// The last saved pair.
    private var kept: ClockPair

    init(events: EventQueue, settlements: Settlements) {
        self.events = events
        self.settlements = settlements
        kept = events.clockPair()
        // Without a stored clock the next start could not tell how old these events and their ids are.
        events.initialState.kept[ClockPair.name] = kept.kept
        keep()
    }

    func keep() {
        keep(events.clockPair())
    }

    /// Saves the clocks if the wall clock was set since the last saved pair.
    /// - Parameter present: the age scale and the clocks at this time.
    func keepIfJumped(_ present: ClockPair) {
        if present.isApart(from: kept) { keep(present) }
    }

    private func keep(_ pair: ClockPair) {
        kept = pair
        settlements.add(.keep(ClockPair.name, pair.kept))
    }
}
