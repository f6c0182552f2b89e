import Glibc
import HeadgateSeeds

// Runs histories for `Tools/simulate`:
//
//   simulate run FIRST COUNT      runs COUNT seeds from FIRST on, and prints the situations that occurred.
//   simulate trace SEED           runs one history and prints its trace.
//   simulate shrink SEED          reduces a failing history to as few steps as still fail.
//   simulate stores FIRST COUNT   runs histories of a store alone.
//   simulate trace-store SEED     runs one of those and prints its trace.

let arguments = Array(CommandLine.arguments.dropFirst())
let numbers = arguments.dropFirst().compactMap { UInt64($0) }

switch (arguments.first, numbers.count) {
case ("run", 2): exit(run(numbers[0], Int(numbers[1]), of: Situation.allCases) { Outcome(of: $0) })
case ("stores", 2): exit(run(numbers[0], Int(numbers[1]), of: Situation.ofStores) { Outcome(ofStore: $0) })
case ("trace", 1): exit(show(Outcome(of: Seed(numbers[0]), isDetailed: true)))
case ("trace-store", 1): exit(show(Outcome(ofStore: Seed(numbers[0]), isDetailed: true)))
case ("shrink", 1): exit(shrink(Seed(numbers[0])))
default:
    print("usage: simulate run FIRST COUNT | trace SEED | shrink SEED | stores FIRST COUNT | trace-store SEED")
    exit(2)
}

/// Prints the trace of a history. Returns the exit status.
func show(_ outcome: Outcome) -> Int32 {
    print(outcome.report(lines: .max))
    return outcome.violation == nil ? 0 : 1
}

/// Runs histories, and checks that the situations occurred.
/// - Parameter situations: The situations that must occur.
/// - Returns: The exit status.
func run(_ first: UInt64, _ count: Int, of situations: [Situation], _ history: (Seed) -> Outcome) -> Int32 {
    var coverage = Coverage()
    for number in first..<first + UInt64(count) {
        Crashes.seed = number
        let outcome = history(Seed(number))
        guard outcome.violation == nil else {
            print(outcome.report(lines: 40))
            return 1
        }
        coverage.add(outcome.records)
    }
    for line in coverage.lines(of: situations) { print(line) }
    return 0
}
