import HeadgateCore
import HeadgateData

@testable import HeadgateServer
@testable import HeadgateStore

/// A backup taken from a running daemon in pieces, and the check of a store opened from the backup.
final class KeeperBackup {
    private let history: KeeperHistory
    /// By dispatcher, the acknowledged events that were not settled when the backup began, and are not settled since.
    private var due: [String: Set<Int>] = [:]
    /// The events that were retained when the backup began, settled or not.
    private let retained: Set<Int>
    /// The events that were erased when the backup began.
    private let erased: Set<Int>
    private var files: [String: [UInt8]] = [:]
    private(set) var id: String?
    var isAsking = false
    var mustSucceed = false

    init(_ history: KeeperHistory, _ erased: Set<Int>) {
        (self.history, self.erased, retained) = (history, erased, history.book.retained)
        for queue in history.book.queues { due[queue.id] = queue.due }
    }

    func settled(_ index: Int, for queue: String) { due[queue]?.remove(index) }

    /// Writes a piece of the backup to the copy.
    /// - Returns: True if the backup is complete.
    func take(_ piece: DataObject) -> Bool {
        id = piece.get(key: "backup")
        let bytes = Base64.decode(piece.get(key: "data") ?? "") ?? []
        let (file, offset): (String, Int) = (piece.get(key: "file") ?? "", piece.get(key: "offset") ?? 0)
        var content = files[file] ?? []
        if content.count < offset { content += [UInt8](repeating: 0, count: offset - content.count) }
        content.replaceSubrange(offset..<min(content.count, offset + bytes.count), with: bytes)
        files[file] = content
        return piece.get(key: "end") ?? false
    }

    /// Opens the copy, and checks that it has every required event and no erased one.
    func check() {
        let (record, book) = (history.record, history.book)
        let medium = SimulatedMedium()
        for (path, bytes) in files {
            let node = SimulatedMedium.Node()
            node.apply(.write(bytes, at: 0))
            medium.name("/data/" + path, node)
        }
        let shown = medium.marks
        record.insist(shown.isDisjoint(with: erased), "a backup has bytes of events that were erased before it")
        record.insist(!history.keys.encrypts || shown.isEmpty, "a backup of an encrypted store shows events")
        let scheduler = SimulatedScheduler()
        let executor = KeeperLife.executor(
            history, history.terms, history.keys.keyring(history.keys.numbers), SimulatedDisk(medium, record), scheduler
        )
        guard let state = try? executor.open(ring: {}) else { return record.insist(false, "a backup does not open") }
        defer { executor.end() }
        record.insist(state.warnings.isEmpty, "a backup is damaged: \(state.warnings)")
        let events = executor.readAll().flatMap { chunk in chunk.map { ($0.sequenceNumber, $0.route) } }
        let lost = numbers(retained).subtracting(events.map(\.0))
        record.insist(lost.isEmpty, "a backup lacks \(lost.sorted()), which are retained")
        for queue in book.queues {
            let dispatcher = state.dispatchers.first { $0.id == queue.id }
            let waiting = Set(
                events.filter { number, route in
                    guard let dispatcher else { return false }
                    return state.routes[route]?.contains(dispatcher.number) == true
                        && !dispatcher.settled.contains(number)
                }.map(\.0))
            let missing = numbers(due[queue.id] ?? []).subtracting(waiting)
            record.insist(missing.isEmpty, "a backup lacks \(missing.sorted()), which \(queue.id) had not settled")
        }
    }

    /// Returns the sequence numbers of those events that have not been erased meanwhile.
    private func numbers(_ indexes: Set<Int>) -> Set<SequenceNumber> {
        Set(indexes.filter { history.book[$0].erasure == .none }.compactMap { history.book[$0].number })
    }
}
