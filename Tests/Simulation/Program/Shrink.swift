import HeadgateSeeds

/// Leaves out steps of a failing history as long as it fails in the same way without them.
/// - Returns: The exit status.
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
    print(least.report(lines: .max))
    return 1
}

/// The search for the steps that can be left out, first in large pieces, then one by one.
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
            // A piece that was needed before may be unnecessary after another is left out.
            while leaveOut(piecesOf: size) {}
            size /= 2
        }
    }

    /// Leaves out pieces of this size that are not needed. Returns true if anything was left out.
    private mutating func leaveOut(piecesOf size: Int) -> Bool {
        let before = skipped.count
        for start in stride(from: steps - size, through: 0, by: -size) {
            let more = skipped.union(start..<start + size)
            if more.count > skipped.count, stillFails(more) { skipped = more }
        }
        return skipped.count > before
    }

    /// Returns the violation without its numbers, which change with every step left out.
    static func kind(_ violation: any Error) -> String {
        String("\(violation)".filter { !$0.isNumber && $0 != "," && $0 != " " })
    }
}
