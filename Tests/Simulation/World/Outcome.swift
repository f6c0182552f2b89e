import HeadgateSeeds

/// What came of one history.
struct Outcome {
    let seed: Seed
    let record: Record
    let violation: (any Error)?

    /// How many steps a history has, before all has to come to rest.
    static let steps = 250

    /// Has a history happen.
    /// - Parameters:
    ///   - skipped: steps that are left out.
    ///   - isDetailed: whether the trace has every call of the disk.
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

    /// Has a history of a store alone happen.
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

    /// What people want to know of a history that broke a promise.
    func told(lines: Int) -> String {
        let complaint = violation.map { "\($0)" } ?? "all held"
        return (["\(seed): \(complaint)"] + record.trace.suffix(lines)).joined(separator: "\n")
    }
}

/// How often each situation came about in some histories.
struct Coverage {
    private var counts: [Situation: Int] = [:]

    mutating func add(_ record: Record) {
        counts.merge(record.counts, uniquingKeysWith: +)
    }

    func lines(of situations: [Situation]) -> [String] {
        situations.map { "\($0.rawValue) \(counts[$0, default: 0])" }
    }
}
