import Foundation
import HeadgateCore

@testable import HeadgateServer

/// A store in a temporary directory, and a worker that is the test itself.
final class StoreScene {
    let directory: String
    var options: SQLiteEventStore.Options
    private let posted = Mailbox<@Sendable () -> Void>()
    private(set) var store: SQLiteEventStore
    /// Events that were reported as put aside.
    private(set) var quarantined = 0

    init(durability: Durability = .full, in parent: String = NSTemporaryDirectory()) {
        directory = parent + "/headgate-store-" + UUID().uuidString
        options = SQLiteEventStore.Options(directory: directory, durability: durability)
        store = SQLiteEventStore(options: options) { _ in }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    var databasePath: String { directory + "/events.db" }

    /// Opens the store, with the options as they are now.
    @discardableResult
    func open() throws -> StoredState {
        store = SQLiteEventStore(options: options) { [posted] in posted.put([$0]) }
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

    func read(after sequenceNumber: SequenceNumber) throws -> Chunk? {
        try answer { store.read(after: sequenceNumber, then: $0) }.get()
    }

    /// The numbers of all events behind a place, read as a dispatcher would.
    func numbers(after sequenceNumber: SequenceNumber = 0) throws -> [SequenceNumber] {
        var place = sequenceNumber
        var numbers: [SequenceNumber] = []
        while let chunk = try read(after: place) {
            numbers += chunk.map(\.sequenceNumber).filter { $0 > place }
            place = chunk.lastSequenceNumber
        }
        return numbers
    }

    /// Asks for something and does the worker's work until the answer has come.
    func answer<Answer>(_ ask: (@escaping (Answer) -> Void) -> Void) -> Answer {
        var result: Answer?
        ask { result = $0 }
        while true {
            if let result { return result }
            for work in posted.takeAll(waiting: true) { work() }
        }
    }

    /// Runs SQL on the file, from outside.
    @discardableResult
    func sql(_ text: String) throws -> Int64 {
        try SQLiteConnection(path: databasePath).integer(text)
    }
}
