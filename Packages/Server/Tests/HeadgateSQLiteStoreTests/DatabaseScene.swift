// swift-format-ignore-file: OnlyOneTrailingClosureArgument

import Foundation
import HeadgateCore
import HeadgateCoreTesting
import HeadgateTransport

@testable import HeadgateSQLiteStore

/// A database in a temporary directory. The test runs the work that the store posts to its scheduler.
final class DatabaseScene {
    let directory = NSTemporaryDirectory() + "/headgate-database-" + UUID().uuidString
    var options: SQLiteEventStore.Options
    private let posted = Guarded<[@Sendable () -> Void]>([])
    private(set) var store: SQLiteEventStore
    /// The number of events that were reported as damaged.
    private(set) var quarantined = 0

    init() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        options = SQLiteEventStore.Options(path: directory + "/events.db")
        store = SQLiteEventStore(options: options) { _ in }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    @discardableResult
    func open() throws -> StoredState {
        store = SQLiteEventStore(options: options) { [posted] work in posted.withLock { $0.append(work) } }
        store.onQuarantine = { [unowned self] in quarantined += $0 }
        return try store.open()
    }

    func close() {
        answer { then in store.close { then(()) } } as Void
    }

    func reopen() throws -> StoredState {
        close()
        return try open()
    }

    @discardableResult
    func append(_ group: AppendGroup) -> StoreFault? {
        answer { store.append(group, then: $0) }
    }

    @discardableResult
    func write(_ changes: StoreChange...) -> StoreFault? {
        answer { store.write(changes, then: $0) }
    }

    /// Returns the numbers of all events, read as a dispatcher would.
    func numbers() throws -> [SequenceNumber] {
        var (position, numbers): (SequenceNumber, [SequenceNumber]) = (0, [])
        while let chunk = try answer({ store.read(after: position, then: $0) }).get() {
            numbers += chunk.map(\.sequenceNumber)
            position = chunk.lastSequenceNumber
        }
        return numbers
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

    /// Waits for work that the store has posted to the scheduler, and runs it.
    func work() {
        for work in posted.takeAll(waiting: true) { work() }
    }

    /// Runs SQL on the file over a separate connection.
    @discardableResult
    func sql(_ text: String) throws -> Int64 {
        try SQLiteConnection(path: options.path).integer(text)
    }

    /// Returns the text in the first column of a query's first row.
    func text(_ query: String) throws -> String {
        var text = ""
        try SQLiteConnection(path: options.path).query(query) { row throws(SQLiteError) in
            text = row.text(0)
            return false
        }
        return text
    }
}
