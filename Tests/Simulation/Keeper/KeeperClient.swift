import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// The requests of a ``KeeperHistory``, and the checks of their answers.
final class KeeperClient {
    private unowned let history: KeeperHistory
    /// The erased events whose bytes must be gone.
    private var gone: Set<Int> = []
    private var isErasing = false
    private var backup: KeeperBackup?
    private var backups = 0

    init(_ history: KeeperHistory) {
        self.history = history
        for queue in history.book.queues {
            queue.onSettled = { [weak self] in self?.backup?.settled($0, for: queue.id) }
        }
    }

    private var record: Record { history.record }
    private var book: KeeperBook { history.book }
    private var client: PlainClient? { history.life?.client }
    private var now: Int64 { history.scheduler.trueTime }

    /// A description of the outstanding requests.
    var waiting: String {
        "erasing \(isErasing), backup \(backup != nil), rewinds \(book.queues.map { $0.requested ?? 0 })"
    }

    func lifeEnded() { (isErasing, backup) = (false, nil) }

    // MARK: Events

    func track() {
        let (user, isNarrow) = (record.number(0...4), record.oneIn(4))
        let key = record.oneIn(3) ? nil : "k\(record.number(1...2))"
        let index = book.track(
            KeeperBook.Event(user: user, key: key, queues: isNarrow ? ["a"] : ["a", "b"], requestedAt: now))
        let mark = "\(KeeperBook.mark)\(index)."
        let more = (key.map { #","key":"\#($0)""# } ?? "") + (isNarrow ? #","dispatchers":["a"]"# : "")
        let filling = record.characters(record.pick([0, 20, 200]))
        let data = #"{"user":\#(user),"text":"\#(mark)\#(filling)"}"#
        client?.ask("track", #"{"event":"x","id":"\#(mark)"\#(more),"data":\#(data)}"#) { [self] answer in
            guard case .result(let result) = answer, let number: Int = result.get(key: "seq") else { return }
            book.acknowledged(index, SequenceNumber(number), at: now)
        }
    }

    // MARK: Rewinds

    func rewind() {
        let queue = record.pick(book.queues)
        guard queue.requested == nil, book.highest > 0 else { return }
        if record.oneIn(3) {
            rewind(queue, back: record.pick([1, 3, 20]))
        } else {
            rewind(queue, to: SequenceNumber(record.number(1...Int(book.highest))))
        }
    }

    private func rewind(_ queue: KeeperQueue, to first: SequenceNumber) {
        queue.asks(from: first)
        ask(queue, to: "\(first)") { [self] answer in
            take(answer, queue) { $0 == first ? nil : "\(first)" }
        }
    }

    private func rewind(_ queue: KeeperQueue, back seconds: Int) {
        queue.asks(from: 1)
        let cutoff = now - Int64(seconds) * 1_000
        ask(queue, to: "\"-\(seconds)s\"") { [self] answer in
            let latest = now - Int64(seconds) * 1_000
            take(answer, queue) { [book] first in
                for index in 0..<book.count {
                    guard let number = book[index].number, let time = book[index].acknowledgedAt else { continue }
                    if time < cutoff, number >= first { return "more than \(number), which is older" }
                    let isStored = book[index].erasure == .none && (book.isKept(index) || queue.due.contains(index))
                    if book[index].requestedAt > latest, number < first, isStored { return "\(number) or less" }
                }
                return nil
            }
        }
    }

    /// Requests a rewind of a dispatcher.
    /// - Parameter first: JSON.
    private func ask(_ queue: KeeperQueue, to first: String, then: @escaping (Answer) -> Void) {
        let before = inFlight(queue)
        client?.ask("dispatcher.rewind", #"{"id":"\#(queue.id)","to":\#(first)}"#) { [self] answer in
            if case .result = answer {
                record.insist(before.isDisjoint(with: inFlight(queue)), "\(queue.id) is rewound with events in flight")
            }
            then(answer)
        }
    }

    /// Returns the events of a dispatcher's unanswered batches.
    private func inFlight(_ queue: KeeperQueue) -> Set<Int> {
        history.destinations.first { $0.queue === queue }?.inFlight ?? []
    }

    /// Checks the answer to a rewind.
    /// - Parameter complaint: Returns a description of the correct first event if the answer has another one, or nil.
    private func take(_ answer: Answer, _ queue: KeeperQueue, problem: (SequenceNumber) -> String?) {
        guard case .result(let result) = answer else {
            guard case .refused(let reason, _) = answer else { return }
            record.insist(reason != "not_found" || book.keptBehind != 0, "a rewind is refused, but all events are kept")
            if reason == "not_found" { record.count(.rewindRefused) }
            return queue.notRewound(isCertain: reason != "storage")
        }
        let first = SequenceNumber(result.get(key: "first_seq", as: Int.self) ?? 0)
        let (isComplete, events) = (result.get(key: "complete") ?? false, result.get(key: "events") ?? -1)
        if let right = problem(first) { record.insist(false, "\(queue.id) is rewound to \(first), not \(right)") }
        record.insist(isComplete || book.keptBehind != 0, "a rewind is incomplete, but all events are kept")
        record.note("\(queue.id) is rewound to \(first), \(events) events, complete: \(isComplete)")
        queue.rewound(to: first, events: events, isComplete: isComplete)
    }

    // MARK: Erasures

    func erase() {
        guard !isErasing else { return }
        let (user, isDry) = (record.number(0...4), record.oneIn(5))
        let params = #"{"when":{"operator":"equals","path":"data.user","value":\#(user)},"dry_run":\#(isDry)}"#
        let least = book.certain(of: user).filter { book.keptBehind == 0 || book.isDue($0) }.count
        guard !isDry else {
            client?.ask("store.erase", params) { [self] in count($0, of: user, least: 0) }
            return
        }
        let matching = book.requestsErasure(of: user)
        isErasing = true
        client?.ask("store.erase", params) { [self] answer in
            isErasing = false
            guard case .result = answer else { return book.notErased() }
            record.count(.erased)
            record.note("\(matching.compactMap { book[$0].number }) are erased")
            count(answer, of: user, least: book.keptBehind == 0 ? least : 0)
            book.erased(matching)
            gone.formUnion(matching)
            checkErased(after: "the answer")
        }
    }

    /// Checks the number of erased events.
    private func count(_ answer: Answer, of user: Int, least: Int) {
        guard case .result(let result) = answer, let events: Int = result.get(key: "events") else { return }
        let most = book.possible(of: user)
        record.insist(
            (least...max(least, most)).contains(events), "\(events) events reported erased, not \(least) to \(most)")
    }

    /// Checks that no file has bytes of an erased event.
    func checkErased(after what: String) {
        guard !gone.isEmpty else { return }
        let found = history.medium.marks.intersection(gone).sorted()
        let files = found.first.map { history.medium.files(with: $0) } ?? []
        record.insist(
            found.isEmpty,
            "\(files) have bytes of \(found.map { "\(KeeperBook.mark)\($0), event \(book[$0].number ?? 0)" }), erased, after \(what)"
        )
    }

    // MARK: Keys

    func changeKey() {
        guard history.keys.areUsed else { return }
        if record.oneIn(2) { client?.ask("store.rekey", "{}") { _ in } } else { inspectKeys() }
    }

    /// Requests the keys that encrypt the files. If all use the present key, no file may contain a readable event.
    /// - Parameter isDone: True if no file may use another key any more.
    private func inspectKeys(isDone: Bool = false) {
        client?.ask("status", "{}") { [self] answer in
            guard case .result(let status) = answer, let store: DataObject = status.get(key: "store"),
                let found: DataObject = store.get(key: "encryption")
            else { return }
            record.insist(!isDone || found.get(key: "bytes_left") == 0, "files are left under another key: \(found)")
            guard history.keys.encrypts, found.get(key: "bytes_left") == 0, let key: Int = found.get(key: "key")
            else { return }
            record.insist(key == history.keys.numbers[0], "the key is \(key), not \(history.keys.numbers)")
            record.count(.keyAlone)
            history.keys.only = key
            let shown = history.medium.marks.sorted()
            record.insist(shown.isEmpty, "files show \(shown.map { book[$0].number ?? 0 }), but all must be encrypted")
        }
    }

    // MARK: Backups

    func backUp() {
        if let backup {
            if !backup.isAsking { next(of: backup) }
            return
        }
        backups += 1
        let new = KeeperBackup(history, gone)
        backup = new
        next(of: new)
    }

    private func next(of backup: KeeperBackup) {
        backup.isAsking = true
        client?.ask("store.backup", backup.id.map { #"{"backup":"\#($0)"}"# } ?? "{}") { [self] answer in
            backup.isAsking = false
            guard self.backup === backup else { return }
            guard case .result(let result) = answer else {
                record.count(.backupEnded)
                record.insist(!backup.mustSucceed, "a backup of a store at rest fails")
                self.backup = nil
                return
            }
            guard backup.take(result) else {
                if !record.oneIn(8) || backup.mustSucceed { next(of: backup) }
                return
            }
            self.backup = nil
            record.count(.backedUp)
            backup.check()
        }
    }

    // MARK: The end

    /// The requests that must succeed at the end, when nothing else happens.
    var restfulRequests: [() -> Void] {
        [
            { [self] in
                backup = nil
                backUp()
                backup?.mustSucceed = true
            },
            { [self] in if history.keys.areUsed { client?.ask("store.rekey", "{}") { _ in } } },
            { [self] in if history.keys.areUsed { inspectKeys(isDone: true) } },
            { [self] in for queue in book.queues where book.keptBehind == 0 && book.highest > 0 { rewind(queue, to: 1) }
            },
        ]
    }

    /// Checks the erased events at the end, also those of erasures that were not answered.
    func checkEnd() {
        gone.formUnion(book.erased)
        checkErased(after: "the end")
    }
}
