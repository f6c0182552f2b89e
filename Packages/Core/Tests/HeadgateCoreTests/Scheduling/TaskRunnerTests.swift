import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Asynchronous functions on the scheduler")
struct TaskRunnerTests {
    private let scheduler = ManualScheduler()
    private let questions = Questions()

    /// Questions that the test answers explicitly, and a log of the steps that ran.
    private final class Questions {
        var open: [(Int) -> Void] = []
        var log: [String] = []

        func ask(_ then: @escaping (Int) -> Void) { open.append(then) }

        func answer(_ value: Int) {
            let requested = open
            open = []
            for then in requested { then(value) }
        }
    }

    @Test("B11: a function runs line by line in turns of the scheduler, and only there")
    func lines() {
        let tasks = TaskRunner(scheduler)
        tasks.run { [questions] () async throws(RunnerEnded) in
            questions.log.append("begun")
            questions.log.append("\(try await tasks.answer(questions.ask))")
            questions.log.append("\(try await tasks.answer(questions.ask))")
        }
        #expect(questions.log == [])
        scheduler.settle()
        #expect(questions.log == ["begun"])
        questions.answer(1)
        #expect(questions.log == ["begun"])
        scheduler.settle()
        #expect(questions.log == ["begun", "1"])
        questions.answer(2)
        scheduler.settle()
        #expect(questions.log == ["begun", "1", "2"])
    }

    @Test("If the answer comes before the function waits, the function continues in the same turn")
    func atOnce() {
        let tasks = TaskRunner(scheduler)
        tasks.run { [questions] () async throws(RunnerEnded) in
            for _ in 0..<3 { questions.log.append(try await tasks.answer { $0("answer") }) }
        }
        scheduler.settle()
        #expect(questions.log == ["answer", "answer", "answer"])
    }

    @Test("Functions that run one at a time start in the order of their calls, each after the previous one has ended")
    func oneAtATime() {
        let tasks = TaskRunner(scheduler)
        let turns = OneAtATime(tasks)
        for name in ["a", "b", "c"] {
            tasks.run { [questions] () async throws(RunnerEnded) in
                try await turns.run { () async throws(RunnerEnded) in
                    questions.log.append("\(name) begins")
                    questions.log.append("\(name) ends with \(try await tasks.answer(questions.ask))")
                }
            }
        }
        scheduler.settle()
        #expect(questions.log == ["a begins"])
        questions.answer(1)
        scheduler.settle()
        #expect(questions.log == ["a begins", "a ends with 1", "b begins"])
        questions.answer(2)
        scheduler.settle()
        questions.answer(3)
        scheduler.settle()
        #expect(questions.log.suffix(3) == ["b ends with 2", "c begins", "c ends with 3"])
    }

    @Test("D11: functions that wait when the gate ends do not continue, and release the objects that they used")
    func ended() {
        weak var held: TaskRunner?
        do {
            let tasks = TaskRunner(scheduler)
            held = tasks
            let turns = OneAtATime(tasks)
            for name in ["a", "b"] {
                tasks.run { [questions] () async throws(RunnerEnded) in
                    try await turns.run { () async throws(RunnerEnded) in
                        _ = try await tasks.answer(questions.ask)
                        questions.log.append(name)
                    }
                }
            }
            scheduler.settle()
            tasks.end()
        }
        questions.answer(1)
        scheduler.settle()
        #expect(questions.log == [] && held == nil)
    }
}
