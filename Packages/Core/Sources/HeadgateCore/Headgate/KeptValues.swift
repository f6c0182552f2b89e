/// Small things that are kept under names, over restarts.
final class KeptValues {
    private var all: [String: [UInt8]]
    private let settlements: Settlements

    init(_ stored: [String: [UInt8]], settlements: Settlements) {
        all = stored
        self.settlements = settlements
    }

    subscript(name: String) -> [UInt8]? { all[name] }

    /// The names under which something is kept.
    var names: [String] { Array(all.keys) }

    /// Keeps something; nil takes it away. `then` is called once it is written.
    func keep(_ bytes: [UInt8]?, as name: String, then: @escaping (StoreFault?) -> Void) {
        all[name] = bytes
        settlements.add(.keep(name, bytes))
        settlements.whenWritten(then)
    }

    // MARK: Pauses

    /// Whether an operator has paused a dispatcher (Behaviour B23).
    func pause(of dispatcher: String) -> ManualBarrier.Setting {
        guard let bytes = all[KeptValues.pauseName(dispatcher)] else { return ManualBarrier.Setting() }
        return ManualBarrier.Setting(kept: bytes)
    }

    func keepPause(
        _ setting: ManualBarrier.Setting, of dispatcher: String, then: @escaping (StoreFault?) -> Void
    ) {
        keep(setting.isPaused ? setting.kept : nil, as: KeptValues.pauseName(dispatcher), then: then)
    }

    /// A dispatcher is gone: its pause ends with it (Behaviour B23).
    func endPause(of dispatcher: String) {
        let name = KeptValues.pauseName(dispatcher)
        guard all[name] != nil else { return }
        all[name] = nil
        settlements.add(.keep(name, nil))
    }

    private static func pauseName(_ dispatcher: String) -> String { "pause:\(dispatcher)" }
}

/// Stores the stamp of the age scale beside the clocks, so that the next start goes on from there (Behaviour P7): at the
/// start, once a minute, at an orderly stop, and when the wall clock was set, before anything else is done. Otherwise a clock
/// that was set right would seem to have let that time pass while the machine was off. A wall time that counts as not set is not
/// stored.
final class ClockKeeper {
    private let events: EventQueue
    private let settlements: Settlements
    /// What was kept last.
    private var kept: ClockPair

    init(events: EventQueue, settlements: Settlements) {
        self.events = events
        self.settlements = settlements
        kept = events.clockPair()
        keep()
    }

    func keep() {
        keep(events.clockPair())
    }

    /// - Parameter present: where the age scale stands now.
    func keepIfJumped(_ present: ClockPair) {
        if present.isApart(from: kept) { keep(present) }
    }

    private func keep(_ pair: ClockPair) {
        kept = pair
        settlements.add(.keep(ClockPair.name, pair.kept))
    }
}
