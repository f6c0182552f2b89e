/// What one session may still do in a turn of the loop, so that whoever sends much, or what is dear to answer, does not
/// keep the others waiting (Behaviour X3). Counted and not timed: the same bytes take the same turns everywhere.
struct TurnShare: Equatable {
    /// In units of a tracked event, or of a line that is refused: a few milliseconds.
    static let whole = 4096
    /// What a method call takes beyond that. Some tell much.
    static let call = 15

    private(set) var left = TurnShare.whole

    var isUsedUp: Bool { left <= 0 }

    mutating func spend(_ units: Int = 1) {
        left -= units
    }
}
