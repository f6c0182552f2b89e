/// Closed and opened by an operator: one stands before each dispatcher (Behaviour B23).
public final class ManualBarrier: DescribedBarrier {
    static let kind = "ManualBarrier"
    static let word = "manual"

    /// What an operator set. It survives a restart.
    public struct Setting: Equatable, Sendable {
        public var isPaused = false
        /// Whether flushes go through all the same.
        public var isFlushable = false
        /// The operator's words.
        public var reason: String?

        public init(isPaused: Bool = false, isFlushable: Bool = false, reason: String? = nil) {
            self.isPaused = isPaused
            self.isFlushable = isFlushable
            self.reason = reason
        }
    }

    /// What is in force.
    private let setting: StateSubject<Setting>
    /// What the operator set last, which is in force again once a hold has ended.
    private var chosen: Setting

    init(_ setting: Setting) {
        self.setting = StateSubject(setting)
        chosen = setting
    }

    /// Pauses or resumes, and ends a hold. The flushability is told first, so that a flush never slips through a firm pause.
    func set(_ new: Setting) {
        chosen = new
        setting.value = new
    }

    /// The destination refuses the dispatcher: closed, whatever the operator set before (Behaviour D7).
    func hold(cause: String) {
        setting.value = Setting(isPaused: true, reason: cause)
    }

    /// What the destination said counts no more.
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
    /// As the store keeps it: `P` or `F` (flushable), then the reason's UTF-8 behind `:` if there is one.
    var kept: [UInt8] {
        let letter = UInt8(ascii: isFlushable ? "F" : "P")
        return [letter] + (reason.map { [UInt8(ascii: ":")] + Array($0.utf8) } ?? [])
    }

    init(kept: [UInt8]) {
        self.init(
            isPaused: true, isFlushable: kept.first == UInt8(ascii: "F"),
            reason: kept.count > 1 ? String(decoding: kept.dropFirst(2), as: UTF8.self) : nil)
    }
}
