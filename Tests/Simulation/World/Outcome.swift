import HeadgateSeeds

/// The outcome of one history.
struct Outcome {
    let seed: Seed
    let record: Record
    let violation: (any Error)?

    /// The number of steps before the end of a history.
    static let steps = 250

    /// Runs a history.
    /// - Parameters:
    ///   - skipped: Steps to leave out.
    ///   - isDetailed: True if the trace includes every call of the disk.
    init(of seed: Seed, skipping skipped: Set<Int> = [], isDetailed: Bool = false) {
        self.seed = seed
        let world = World(seed: seed)
        record = world.record
        record.isDetailed = isDetailed
        do {
            try world.run(steps: Outcome.steps, skipping: skipped)
            violation = nil
        } catch {
            violation = error
        }
    }

    /// Runs a history of a store alone.
    init(ofStore seed: Seed, isDetailed: Bool = false) {
        self.seed = seed
        let history = StoreHistory(seed: seed)
        record = history.record
        record.isDetailed = isDetailed
        do {
            try history.run()
            violation = nil
        } catch {
            violation = error
        }
    }

    /// Returns the violation and the last lines of the trace.
    func told(lines: Int) -> String {
        let complaint = violation.map { "\($0)" } ?? "all held"
        return (["\(seed): \(complaint)"] + record.trace.suffix(lines)).joined(separator: "\n")
    }
}

/// The number of times that each situation occurred in some histories.
struct Coverage {
    private var counts: [Situation: Int] = [:]

    mutating func add(_ record: Record) {
        counts.merge(record.counts, uniquingKeysWith: +)
    }

    func lines(of situations: [Situation]) -> [String] {
        situations.map { "\($0.rawValue) \(counts[$0, default: 0])" }
    }
}
