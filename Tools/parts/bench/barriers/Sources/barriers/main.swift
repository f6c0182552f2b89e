// Importing Glibc links libm, which HeadgateCore needs to round numbers.
import Glibc
import HeadgateCore

// Measures the time to deliver one event and the time of one change of a barrier's state, by the number of barriers and
// of dispatchers. Compare the ratios to the first row, since the times depend on the machine and the run.

/// Returns the median time of a call over seven runs, in nanoseconds.
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
