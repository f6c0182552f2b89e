/// What one session may still do in a turn of the loop, so that whoever sends much, or what is dear to answer, does not
/// keep the others waiting (Behaviour X3). Counted and not timed: the same bytes take the same turns everywhere.
struct TurnShare: Equatable {
    /// In units of a tracked event: about a millisecond, as a client's usual window takes.
    static let whole = 512
    /// Bytes of a line that are a unit: a long event is much to read and to store.
    static let lineBytes = 256
    /// What a line that is refused takes beyond that: its answer is made for it alone.
    static let refusal = 1
    /// What an event takes beyond that in a batch or as a notification.
    static let event = 1
    /// What any other method call takes beyond that.
    static let call = 15
    /// Bytes of a call's answer that are a unit more: some tell much.
    static let answerBytes = 32

    private(set) var left = TurnShare.whole

    var isUsedUp: Bool { left <= 0 }

    /// The next turn has come. What was overspent counts in it: one line can hold a thousand calls.
    mutating func renew() {
        left = TurnShare.whole + min(left, 0)
    }

    /// A line of so many bytes has come.
    mutating func spend(line bytes: Int) {
        spend(max(1, bytes / TurnShare.lineBytes))
    }

    /// A call was answered with so many bytes.
    mutating func spend(answer bytes: Int) {
        spend(bytes / TurnShare.answerBytes)
    }

    mutating func spend(_ units: Int = 1) {
        left -= units
    }
}
