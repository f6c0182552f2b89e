/// The events that one sender has stored: in total, and in the last minute (Behaviour Q4). The minute moves on in steps
/// of ten seconds. Pure.
struct UseMeter {
    /// The length of a step.
    static let step = Duration.seconds(10)
    private static let steps = 6

    /// The events of the daemon's whole life.
    private(set) var total = Tally.zero
    /// The totals at the beginnings of the last six steps, the oldest first.
    private var marks = [Tally](repeating: .zero, count: UseMeter.steps)

    /// The events of the last minute.
    var minute: Tally { total - marks[0] }

    @inline(__always)
    mutating func add(_ bytes: Int) {
        total.events &+= 1
        total.bytes &+= bytes
    }

    /// Begins one or more new steps.
    mutating func advance(steps: Int) {
        for _ in 0..<min(steps, UseMeter.steps) {
            marks.removeFirst()
            marks.append(total)
        }
    }
}
