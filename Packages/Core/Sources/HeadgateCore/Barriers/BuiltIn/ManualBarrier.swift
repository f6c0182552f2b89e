import HeadgateData

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
        /// The time of the pause; nil if it is unknown.
        public var since: Timestamp?

        public init(
            isPaused: Bool = false, isFlushable: Bool = false, reason: String? = nil, since: Timestamp? = nil
        ) {
            self.isPaused = isPaused
            self.isFlushable = isFlushable
            self.reason = reason
            self.since = since
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

    /// The time of the pause, also across a restart; nil if there is none.
    var pausedSince: Timestamp? { setting.value.isPaused ? setting.value.since : nil }

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
    /// The saved bytes: `P`, or `F` if flushable; the milliseconds since 1970 in eight bytes, 0 if the time is unknown;
    /// and `:` and the reason in UTF-8 if there is one.
    var kept: [UInt8] {
        let mark = UInt8(ascii: isFlushable ? "F" : "P")
        return [mark] + LittleEndian.bytes(since?.milliseconds ?? 0)
            + (reason.map { [UInt8(ascii: ":")] + Array($0.utf8) } ?? [])
    }

    /// Reads the saved bytes. Missing ones count as zeros.
    init(kept: [UInt8]) {
        let time = kept.dropFirst().prefix(8).reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
        self.init(
            isPaused: true, isFlushable: kept.first == UInt8(ascii: "F"),
            reason: kept.count > 9 ? String(decoding: kept.dropFirst(10), as: UTF8.self) : nil,
            since: time == 0 ? nil : Timestamp(milliseconds: time))
    }
}
