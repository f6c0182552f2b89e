import HeadgateCore
import HeadgateSeeds

/// The requirements of every event store (Behaviour Q1), as checks for the tests of a program's own store.
///
///     @Test(arguments: EventStoreConformance.checks)
///     func conforms(_ check: EventStoreConformance.Check) throws {
///         try check.run(StoreBench(open: { … }, work: { … }))
///     }
///
/// Each check gets an empty store, closes it and opens it again. Durability is not checked: that needs a test that
/// kills the process or cuts the power.
public enum EventStoreConformance {
    /// A single requirement.
    public struct Check: Sendable, CustomStringConvertible {
        /// The rule of Behaviour, and its requirement.
        public let description: String
        let body: @Sendable (StoreBench) throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (StoreBench) throws -> Void) {
            self.description = description
            self.body = body
        }

        /// Runs the check.
        /// - Throws: ``Failure``, or the error of opening the store.
        public func run(_ bench: StoreBench) throws {
            try bench.open()
            try body(bench)
            bench.close()
        }
    }

    /// The error of a store that does not meet a requirement.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// All checks.
    public static let checks =
        appending + restarting + reading + deadLetters + rewinding + erasing + [randomUse]

    /// 400 random steps with occasional restarts, compared with a model that counts every event by itself.
    private static let randomUse = Check("Q3: after any operations a restart restores the state of a simple model") {
        bench in
        for seed in Seeds.first(2) {
            var use = RandomStoreUse(bench, seed)
            for _ in 1...400 { try use.step() }
            try use.checkRestart()
            try bench.empty()
        }
    }
}

/// The store under test.
public final class StoreBench {
    private let makeStore: () throws -> (store: any EventStore, state: StoredState)
    private let work: () -> Void
    private let clear: () throws -> Void
    private(set) var store: any EventStore
    /// The state that the store returned when it was last opened.
    private(set) var state = StoredState()

    /// - Parameters:
    ///   - open: opens the store in the state in which it was closed. The first time it is empty.
    ///   - work: executes the work that the store has given its scheduler. It may block. It is called repeatedly while
    ///     an answer is awaited.
    ///   - clear: deletes the stored data, while the store is closed.
    public init(
        open: @escaping () throws -> (store: any EventStore, state: StoredState), work: @escaping () -> Void,
        clear: @escaping () throws -> Void
    ) {
        (makeStore, self.work, self.clear) = (open, work, clear)
        store = ClosedStore()
    }

    func open() throws {
        (store, state) = try makeStore()
    }

    func close() {
        answer { then in store.close { then(()) } } as Void
    }

    @discardableResult
    func reopen() throws -> StoredState {
        close()
        try open()
        return state
    }

    func empty() throws {
        close()
        try clear()
        try open()
    }

    /// Starts an operation, and runs the scheduler's work until the answer has come.
    func answer<Answer>(_ ask: (@escaping (Answer) -> Void) -> Void) -> Answer {
        var result: Answer?
        ask { result = $0 }
        while true {
            if let result { return result }
            work()
        }
    }

    func append(_ group: AppendGroup) throws {
        try expect(answer { store.append(group, then: $0) } as StoreFault? == nil, "an append fails")
    }

    func write(_ changes: StoreChange...) throws {
        try expect(answer { store.write(changes, then: $0) } as StoreFault? == nil, "a write fails")
    }

    func read(after position: SequenceNumber) throws -> Chunk? {
        try (answer { store.read(after: position, then: $0) } as Result).get()
    }

    /// Returns the numbers of all events after `start`, read as a dispatcher reads them.
    func numbers(after start: SequenceNumber = 0) throws -> [SequenceNumber] {
        var (position, numbers): (SequenceNumber, [SequenceNumber]) = (start, [])
        while let chunk = try read(after: position) {
            numbers += chunk.map(\.sequenceNumber).filter { $0 > position }
            try expect(chunk.lastSequenceNumber > position, "reading after \(position) makes no progress")
            position = chunk.lastSequenceNumber
        }
        return numbers
    }

    func deadLetters(_ query: DeadLetterQuery = DeadLetterQuery(limit: 1_000)) throws -> StoredDeadLetterPage {
        try (answer { store.readDeadLetters(query, then: $0) } as Result).get()
    }

    func purge(_ query: DeadLetterQuery) throws -> Int {
        try (answer { store.purgeDeadLetters(query, then: $0) } as Result).get()
    }

    func expect(_ isSo: Bool, _ message: @autoclosure () -> String) throws {
        guard isSo else { throw EventStoreConformance.Failure(description: message()) }
    }

    func expect<Value: Equatable>(_ value: Value, is expected: Value, _ what: String) throws {
        try expect(value == expected, "\(what): \(value), and not \(expected)")
    }
}

/// The placeholder before a store is opened.
private final class ClosedStore: EventStore {
    let kind = "none"

    func open() -> StoredState { StoredState() }
    func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {}
    func read(after number: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {}
    func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {}
    func readDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void) {
    }
    func purgeDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {}
    func close(then: @escaping () -> Void) { then() }
}
