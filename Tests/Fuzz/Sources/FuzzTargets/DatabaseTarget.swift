import HeadgateCoreTesting
import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer
@testable import HeadgateStore

/// A start of the service with arbitrary rows in the store's database. Rows are read, quarantined or ignored, and the
/// service must then store and deliver an event.
enum DatabaseTarget {
    // Shared by all inputs and emptied for each, since creating a database takes longer than filling it.
    private static nonisolated(unsafe) let connection = memoryDatabase()

    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        do throws(SQLiteError) {
            for table in StoredRows.tables { try connection.run("DELETE FROM \(table)") }
            var rows = StoredRows(connection)
            while !input.isEmpty, rows.count < 24 { try rows.add(from: &input) }
        } catch {
            preconditionFailure(error.message)
        }
        start()
        return 0
    }

    private static func memoryDatabase() -> SQLiteConnection {
        do throws(SQLiteError) {
            let connection = try SQLiteConnection(path: ":memory:", on: NoDisk())
            try connection.execute(StoreSchema.tables)
            return connection
        } catch {
            preconditionFailure(error.message)
        }
    }

    /// The limits of a service, but with few remembered ids, which would take most of the time.
    private static let limits = {
        var limits = StoreLimits()
        limits.dedupeIDs = 8
        return limits
    }()

    private static func start() {
        // Everything runs on this thread.
        nonisolated(unsafe) let scheduler = ManualScheduler()
        let store = DiskEventStore(desk: InlineDesk(connection), kind: .sqlite) { work in scheduler.submit(work) }
        guard let state = try? store.open() else { preconditionFailure("the store does not open") }
        look(state)
        let gate = Headgate(scheduler: scheduler, store: store, state: state, limits: limits)
        let sender = RecordingSender(scheduler: scheduler) { _ in .delivered }
        gate.addDispatcher(DispatcherSettings(id: "a"), kind: "recording", sender: sender)
        gate.noteOrphans()
        let admission = track(gate)
        var answers: [StoreFault?] = []
        gate.events.whenCommitted { answers.append($0) }
        scheduler.advance(by: .seconds(61))
        precondition(answers == [nil], "\(answers)")
        if case .stored(let number) = admission {
            precondition(number > state.lastSequenceNumber, "\(number) is not new")
            let isPaused = state.kept["pause:a"] != nil
            precondition(isPaused || sender.delivered.last == number, "\(number) is not delivered: \(sender.delivered)")
        }
        readLetters(store, scheduler)
        store.close {}
        scheduler.settle()
    }

    private static func look(_ state: StoredState) {
        for (before, after) in zip(state.recentIDs, state.recentIDs.dropFirst()) {
            precondition(before.lastSequenceNumber < after.lastSequenceNumber)
        }
        for dispatcher in state.dispatchers {
            precondition(dispatcher.position <= state.lastSequenceNumber)
            precondition(state.unsettled[dispatcher.number]?.allSatisfy { $0.tally.events > 0 } != false)
        }
    }

    private static func track(_ gate: Headgate) -> Admission? {
        guard let route = try? gate.route(narrowedTo: nil) else { return nil }
        return EventDraft().withTracked(route: route, spareId: "new", gate.events.admit)
    }

    private static func readLetters(_ store: DiskEventStore, _ scheduler: ManualScheduler) {
        var query = LetterQuery(limit: 3)
        for _ in 1...4 {
            var next: LetterNumber?
            store.readLetters(query) { result in
                guard case .success(let page) = result else { preconditionFailure("letters: \(result)") }
                for letter in page.letters { _ = letter.letter.event?.json(attempt: 1) }
                next = page.next
            }
            scheduler.settle()
            guard let next else { return }
            precondition(next > query.after, "the page behind \(query.after) ends at \(next)")
            query.after = next
        }
    }
}

/// Carries out jobs at once on the scheduler's thread.
private final class InlineDesk: StoreDesk {
    private let connection: SQLiteConnection
    private var database: StoreDatabase?
    private var outcomes: [StoreOutcome] = []
    private var ring: () -> Void = {}

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    func open(ring: @escaping @Sendable () -> Void) throws(StoreFault) -> StoreContent {
        self.ring = ring
        do throws(SQLiteError) {
            let (database, state) = try StoreDatabase.read(
                connection, directory: try directory(), options: DiskEventStore.Options(directory: "/"))
            self.database = database
            return StoreContent(kind: .sqlite, state: state)
        } catch {
            throw error.fault
        }
    }

    private func directory() throws(SQLiteError) -> DataDirectory {
        do throws(StoreFault) { return try DataDirectory("/", on: NoDisk()) } catch {
            throw SQLiteError(code: 1, message: error.message)
        }
    }

    func put(_ job: StoreJob) {
        let goesOn = database?.turn([job]) { outcomes += $0 } ?? false
        if !goesOn { outcomes.append(.closed) }
        ring()
    }

    func takeOutcomes() -> [StoreOutcome] {
        defer { outcomes = [] }
        return outcomes
    }
}

/// An empty disk, for a database in memory.
private final class NoDisk: Disk {
    let sqliteName: String? = nil

    func makeDirectory(_ path: String) {}
    func open(_ path: String, creating: Bool) -> any DiskFile { NoFile() }
    func exists(_ path: String) -> Bool { false }
    func size(of path: String) -> Int { 0 }
    func list(_ directory: String) -> [String] { [] }
    func rename(_ path: String, to new: String) {}
    func remove(_ path: String) {}
    func syncDirectory(_ path: String) {}
}

private final class NoFile: DiskFile {
    func size() -> Int { 0 }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int { 0 }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {}
    func resize(to count: Int) {}
    func preallocate(_ count: Int) {}
    func sync() {}
    func lock() -> Bool { true }
}
