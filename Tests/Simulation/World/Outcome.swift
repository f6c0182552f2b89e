import HeadgateSeeds

/// The outcome of one seed.
struct Outcome {
    let seed: Seed
    /// The records of its histories. The last one has the violation, if there is one.
    let records: [Record]
    let violation: (any Error)?

    /// The number of steps before the end of a history.
    static let steps = 250

    /// Runs a history of a daemon with all its surroundings, one of an operator who keeps its store, and one of users who
    /// fill a small store.
    /// - Parameters:
    ///   - skipped: Steps to leave out.
    ///   - isDetailed: True if the trace includes every call of the disk.
    init(of seed: Seed, skipping skipped: Set<Int> = [], isDetailed: Bool = false) {
        let world = World(seed: seed)
        let keeper = KeeperHistory(seed: seed)
        let shares = ShareHistory(seed: seed)
        self.init(
            seed, isDetailed,
            [
                (world.record, { try world.run(steps: Outcome.steps, skipping: skipped) }),
                (keeper.record, { try keeper.run(skipping: skipped) }),
                (shares.record, { try shares.run(skipping: skipped) }),
            ])
    }

    /// Runs a history of a store alone.
    init(ofStore seed: Seed, isDetailed: Bool = false) {
        let history = StoreHistory(seed: seed)
        self.init(seed, isDetailed, [(history.record, history.run)])
    }

    private init(_ seed: Seed, _ isDetailed: Bool, _ histories: [(record: Record, run: () throws -> Void)]) {
        self.seed = seed
        var (records, violation): ([Record], (any Error)?) = ([], nil)
        for history in histories where violation == nil {
            history.record.isDetailed = isDetailed
            records.append(history.record)
            do { try history.run() } catch { violation = error }
        }
        (self.records, self.violation) = (records, violation)
    }

    /// Returns the violation and the last lines of the trace.
    func report(lines: Int) -> String {
        let problem = violation.map { "\($0)" } ?? "all held"
        let shown = violation == nil ? records[...] : records.suffix(1)
        return (["\(seed): \(problem)"] + shown.flatMap { $0.trace.suffix(lines) }).joined(separator: "\n")
    }
}

/// The number of times that each situation occurred in some histories.
struct Coverage {
    private var counts: [Situation: Int] = [:]

    mutating func add(_ records: [Record]) {
        for record in records { counts.merge(record.counts, uniquingKeysWith: +) }
    }

    func lines(of situations: [Situation]) -> [String] {
        situations.map { "\($0.rawValue) \(counts[$0, default: 0])" }
    }
}
