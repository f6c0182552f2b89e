/// A barrier that an operator closes and opens. Each dispatcher has one (Behaviour B23).
public final class ManualBarrier: DescribedBarrier {
    static let kind = "ManualBarrier"
    static let word = "manual"

    /// The operator's setting. It survives a restart.
    public struct Setting: Equatable, Sendable {
        public var isPaused = false
        /// True if flushes ignore the pause.
        public var isFlushable = false
        /// The operator's reason.
        public var reason: String?

        public init(isPaused: Bool = false, isFlushable: Bool = false, reason: String? = nil) {
            self.isPaused = isPaused
            self.isFlushable = isFlushable
            self.reason = reason
        }
    }

    /// The setting in force.
    private let setting: StateSubject<Setting>
    /// The operator's last setting, which applies again when a hold ends.
    private var chosen: Setting

    init(_ setting: Setting) {
        self.setting = StateSubject(setting)
        chosen = setting
    }

    /// Applies an operator's setting, and ends a hold. State and flushability change together, so that no flush passes
    /// a pause that is not flushable.
    func set(_ new: Setting) {
        chosen = new
        setting.value = new
    }

    /// Closes the barrier because the destination refuses the dispatcher, whatever the operator's setting is (Behaviour
    /// D7).
    func hold(cause: String) {
        setting.value = Setting(isPaused: true, reason: cause)
    }

    /// Ends a hold: the operator's setting applies again.
    func endHold() {
        setting.value = chosen
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        setting.wrappedValue.map { $0.isPaused ? .closed : .open }
    }

    public var isFlushable: Observable<Bool> {
        setting.wrappedValue.map(\.isFlushable)
    }

    public func reason(for dispatcherId: String) -> String? {
        setting.value.isPaused ? setting.value.reason : nil
    }
}

extension ManualBarrier.Setting {
    /// The saved bytes: `P`, or `F` if flushable, followed by `:` and the reason in UTF-8 if there is one.
    var kept: [UInt8] {
        let mark = UInt8(ascii: isFlushable ? "F" : "P")
        return [mark] + (reason.map { [UInt8(ascii: ":")] + Array($0.utf8) } ?? [])
    }

    init(kept: [UInt8]) {
        self.init(
            isPaused: true, isFlushable: kept.first == UInt8(ascii: "F"),
            reason: kept.count > 1 ? String(decoding: kept.dropFirst(2), as: UTF8.self) : nil)
    }
}
