// swift-format-ignore-file: OnlyOneTrailingClosureArgument

import HeadgateCoreTesting
import HeadgateSeeds
import Testing

@testable import HeadgateCore
@testable import HeadgateStore

/// Tests that jobs of one commit get the same answers as jobs that are committed one by one.
@Suite("Event store: many jobs at once")
struct StoreJobOrderTests {
    @Test(
        "Q2, D10: each job sees the jobs before it and no later ones, also if some fail",
        arguments: 1...12 as ClosedRange<UInt64>)
    func inOrder(seed: UInt64) throws {
        var run = try JobRun(seed: seed)
        for _ in 1...25 { run.turn() }
        run.checkReading()
    }
}

/// Makes random jobs, and the answer that each must get if the jobs are done one by one.
private struct JobRun {
    private let scene = StoreScene(durability: .normal)
    private let engine: LogEngine
    private let seed: UInt64
    private var random: SeededRandom
    private var lastNumber: SequenceNumber = 0
    /// The sequence numbers of the stored events.
    private var stored: [SequenceNumber] = []
    private var deadLetters: [SequenceNumber] = []
    /// The answers to the jobs of a turn.
    private let answers = JobAnswers()
    /// The numbers of the last events of all groups, stored or not.
    private var ends: [SequenceNumber] = [0]

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: Seed(seed))
        engine = try scene.options.open().engine
    }

    mutating func turn() {
        var jobs: [StoreJob] = []
        var expected: [String] = []
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let (job, outcome) = next()
            jobs.append(job)
            expected.append(outcome)
        }
        answers.texts = []
        engine.carryOut(jobs) { news in
            for answer in news.answers { answer() }
        }
        #expect(answers.texts == expected, "seed \(seed)")
    }

    private mutating func next() -> (StoreJob, String) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4:
            let first = lastNumber + 1
            lastNumber += SequenceNumber.random(in: 1...3, using: &random)
            let isStored = !lastNumber.isMultiple(of: 5)
            if isStored { stored += first...lastNumber }
            ends.append(lastNumber)
            // Some groups continue a missing group, so that they are refused.
            let group = Groups.of(first...lastNumber).with(behind: isStored ? 0 : .max)
            return (.append(group, then: answers.done), isStored ? "done" : "failed")
        case 4..<6:
            lastNumber += 1
            deadLetters.append(lastNumber)
            return (.write([.deadLetter(.sample(lastNumber))], then: answers.done), "done")
        case 6:
            let position = SequenceNumber.random(in: 0...lastNumber, using: &random)
            let scan = EventScan(
                countingAfter: position, before: [lastNumber + 1], settled: Settled(through: 0), sweep: Sweep())
            let job = answers.ask({ $0.take(scan) }) { "\($0.counts.values.reduce(0, +)) counted" }
            return (job, "\(stored.filter { $0 > position }.count) counted")
        case 7:
            // Read from the end of a group, because a read from within a group may begin with the rest of it.
            let position = ends.randomElement(using: &random) ?? 0
            return (
                answers.ask({ $0.read(after: position) }) { "\($0.map { $0.map(\.sequenceNumber) } ?? [])" },
                "\(stored.filter { $0 > position })"
            )
        case 8:
            let query = DeadLetterQuery(limit: 1_000)
            let job = answers.ask({ $0.readDeadLetters(query) }, isAboutDeadLetters: true) { page in
                "letters \(page.deadLetters.map(\.deadLetter.sequenceNumber))"
            }
            return (job, "letters \(deadLetters)")
        default:
            let count = min(deadLetters.count, Int.random(in: 1...3, using: &random))
            deadLetters.removeFirst(count)
            let query = DeadLetterQuery(limit: max(1, count))
            return (
                answers.ask({ $0.purgeDeadLetters(query) }, isAboutDeadLetters: true) { "purged \($0)" },
                "purged \(count)"
            )
        }
    }

    func checkReading() {
        let chunk = try? engine.read(after: 0).get()
        #expect(chunk.map { $0.map(\.sequenceNumber) } ?? [] == stored, "seed \(seed)")
    }
}

/// The answers to jobs, as texts in the order in which they came.
private final class JobAnswers {
    var texts: [String] = []

    func done(_ fault: StoreFault?) { texts.append(fault == nil ? "done" : "failed") }

    func ask<Value>(
        _ work: @escaping (LogEngine) -> Result<Value, StoreFault>, isAboutDeadLetters: Bool = false,
        _ text: @escaping (Value) -> String
    ) -> StoreJob {
        .ask(isAboutDeadLetters: isAboutDeadLetters, work) { [self] result in
            if case .success(let value) = result { texts.append(text(value)) } else { texts.append("unexpected") }
        }
    }
}
