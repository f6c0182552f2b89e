// Core rounds numbers; this is what links libm.
import Glibc
import HeadgateCore

// What one decision and one change of a barrier's state cost, by the number of barriers and of dispatchers. All figures
// are of one run; what counts is how they grow, in ratio to the first row.

/// The median of some runs, in nanoseconds for each call.
func cost(_ calls: Int, _ work: () -> Void) -> Double {
    let clock = ContinuousClock()
    let runs = (0..<7).map { _ in
        let time = clock.measure { for _ in 0..<calls { work() } }
        return Double(time.wholeNanoseconds) / Double(calls)
    }
    return runs.sorted()[runs.count / 2]
}

func padded(_ text: String) -> String {
    String(repeating: " ", count: max(0, 14 - text.count)) + text
}

func row(_ cells: [String]) {
    print(cells.map(padded).joined())
}

func nanoseconds(_ value: Double) -> String { "\(Int(value.rounded()))" }

func ratio(_ value: Double, _ base: Double) -> String { "\((value / base * 100).rounded() / 100)×" }

row(["barriers", "dispatchers", "event ns", "ratio", "change ns", "ratio", "ns/dispatcher"])
var base: (event: Double, change: Double)?
for dispatchers in [1, 10, 50] {
    for barriers in [1, 10, 100] {
        let stage = Stage(barriers: barriers, dispatchers: dispatchers)
        let event = cost(200) { stage.event() }
        let change = cost(200) { stage.change() } / 2
        let first = base ?? (event, change)
        base = first
        row([
            "\(barriers)", "\(dispatchers)", nanoseconds(event), ratio(event, first.event), nanoseconds(change),
            ratio(change, first.change), nanoseconds(change / Double(dispatchers)),
        ])
    }
}
