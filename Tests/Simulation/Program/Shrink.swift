import HeadgateSeeds

/// Leaves out steps of a history that breaks a promise, as long as it breaks the same without them.
/// - Returns: the exit status.
func shrink(_ seed: Seed) -> Int32 {
    let whole = Outcome(of: seed)
    guard let violation = whole.violation else {
        print("\(seed): all held")
        return 0
    }
    let kind = Shrinking.kind(violation)
    var shrinking = Shrinking(steps: Outcome.steps) { skipped in
        Outcome(of: seed, skipping: skipped).violation.map(Shrinking.kind) == kind
    }
    shrinking.run()
    let least = Outcome(of: seed, skipping: shrinking.skipped, isDetailed: true)
    print("\(Outcome.steps - shrinking.skipped.count) of \(Outcome.steps) steps are enough")
    print(least.told(lines: .max))
    return 1
}

/// Finds what can be left out: first in large pieces, then step by step.
struct Shrinking {
    private(set) var skipped: Set<Int> = []
    private let steps: Int
    private let stillFails: (Set<Int>) -> Bool

    init(steps: Int, stillFails: @escaping (Set<Int>) -> Bool) {
        self.steps = steps
        self.stillFails = stillFails
    }

    mutating func run() {
        var size = steps / 2
        while size > 0 {
            // A piece that could not go may go once another has.
            while leaveOut(piecesOf: size) {}
            size /= 2
        }
    }

    /// - Returns: whether anything could be left out.
    private mutating func leaveOut(piecesOf size: Int) -> Bool {
        let before = skipped.count
        for start in stride(from: steps - size, through: 0, by: -size) {
            let more = skipped.union(start..<start + size)
            if more.count > skipped.count, stillFails(more) { skipped = more }
        }
        return skipped.count > before
    }

    /// What was wrong, without the numbers in it: these change with every step that is left out.
    static func kind(_ violation: any Error) -> String {
        String("\(violation)".filter { !$0.isNumber && $0 != "," && $0 != " " })
    }
}
