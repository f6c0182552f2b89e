import Glibc
import HeadgateSeeds

// Histories one after the other, for `Tools/simulate`:
//
//   simulate run FIRST COUNT      those of COUNT seeds from FIRST on; tells how often each situation came about
//   simulate trace SEED           one, with its whole trace
//   simulate shrink SEED          one that breaks a promise, with as few steps as break it too
//   simulate stores FIRST COUNT   those of a store alone
//   simulate trace-store SEED     one of these, with its whole trace

let arguments = Array(CommandLine.arguments.dropFirst())
let numbers = arguments.dropFirst().compactMap { UInt64($0) }

switch (arguments.first, numbers.count) {
case ("run", 2): exit(run(numbers[0], Int(numbers[1]), of: Situation.allCases) { Outcome(of: $0) })
case ("stores", 2): exit(run(numbers[0], Int(numbers[1]), of: Situation.ofStores) { Outcome(ofStore: $0) })
case ("trace", 1): exit(tell(Outcome(of: Seed(numbers[0]), isDetailed: true)))
case ("trace-store", 1): exit(tell(Outcome(ofStore: Seed(numbers[0]), isDetailed: true)))
case ("shrink", 1): exit(shrink(Seed(numbers[0])))
default:
    print("usage: simulate run FIRST COUNT | trace SEED | shrink SEED | stores FIRST COUNT | trace-store SEED")
    exit(2)
}

/// - Returns: the exit status.
func tell(_ outcome: Outcome) -> Int32 {
    print(outcome.told(lines: .max))
    return outcome.violation == nil ? 0 : 1
}

/// - Parameter situations: what has to happen.
/// - Returns: the exit status.
func run(_ first: UInt64, _ count: Int, of situations: [Situation], _ history: (Seed) -> Outcome) -> Int32 {
    var coverage = Coverage()
    for number in first..<first + UInt64(count) {
        Crashes.seed = number
        let outcome = history(Seed(number))
        guard outcome.violation == nil else {
            print(outcome.told(lines: 40))
            return 1
        }
        coverage.add(outcome.record)
    }
    for line in coverage.lines(of: situations) { print(line) }
    return 0
}
