import Glibc

/// A machine's disk, which outlives the daemon: what programs see of it, and what would be left of that without power.
///
/// What is written is safe from a power failure once it is synced, file by file, and names once their directory is. What
/// was not synced is lost, kept, kept in part or in another order, block by block, as chance has it.
final class Platter {
    /// A file, whatever it is called.
    final class Node {
        fileprivate(set) var bytes: [UInt8] = []
        /// What is safe.
        private var durable: [UInt8] = []
        /// Who has it for itself alone.
        weak var holder: AnyObject?
        /// What has been done since.
        private var pending: [Change] = []
        /// How many changes there have been.
        private(set) var changes = 0

        func apply(_ change: Change) {
            change.apply(to: &bytes)
            pending.append(change)
            changes += 1
        }

        func sync() { sync(through: changes) }

        /// Makes the first so many changes safe.
        func sync(through count: Int) {
            let new = pending.prefix(max(0, count - (changes - pending.count)))
            for change in new { change.apply(to: &durable) }
            pending.removeFirst(new.count)
        }

        /// A bit becomes another, on the disk and for all who read it.
        func rot(at place: Int, bit: UInt8) {
            bytes[place] ^= bit
            if place < durable.count { durable[place] ^= bit }
        }

        /// A sync that went wrong: some of it is safe, and of the rest the system thinks so.
        func syncInPart(_ record: Record) {
            for change in pending { change.tear(record)?.apply(to: &durable) }
            pending = []
        }

        fileprivate func losePower(_ record: Record, _ fate: Fate) {
            for change in pending { fate.choose(change, record)?.apply(to: &durable) }
            (bytes, pending) = (durable, [])
        }
    }

    /// What is done to a file.
    enum Change {
        case write([UInt8], at: Int)
        case resize(Int)

        func apply(to bytes: inout [UInt8]) {
            switch self {
            case .resize(let count):
                if count < bytes.count { bytes.removeLast(bytes.count - count) } else { grow(&bytes, to: count) }
            case .write(let new, let offset):
                grow(&bytes, to: offset + new.count)
                bytes.withUnsafeMutableBytes { target in
                    new.withUnsafeBytes {
                        UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: $0)
                    }
                }
            }
        }

        private func grow(_ bytes: inout [UInt8], to count: Int) {
            if bytes.count < count { bytes += [UInt8](repeating: 0, count: count - bytes.count) }
        }

        /// All of it, nothing of it, or of a write only some bytes at its beginning, up to a block's end.
        func tear(_ record: Record) -> Change? {
            guard case .write(let bytes, let offset) = self, record.oneIn(2) else {
                return record.oneIn(2) ? self : nil
            }
            let end = record.number(0...bytes.count / Change.block) * Change.block
            return end == 0 ? nil : .write(Array(bytes[..<end]), at: offset)
        }

        static let block = 512
    }

    /// What becomes of what was not synced.
    fileprivate enum Fate: CaseIterable {
        case lost, kept, scattered

        func choose(_ change: Change, _ record: Record) -> Change? {
            switch self {
            case .lost: nil
            case .kept: change
            case .scattered: change.tear(record)
            }
        }
    }

    private(set) var names: [String: Node] = [:]
    /// Bytes that all files may have together; nil: as many as they like.
    var room: Int?
    private var durableNames: [String: Node] = [:]
    private var pendingNames: [(name: String, node: Node?)] = []

    func name(_ path: String, _ node: Node?) {
        names[path] = node
        pendingNames.append((path, node))
    }

    /// Whether there is room for so many bytes more.
    func hasRoom(for bytes: Int) -> Bool {
        guard let room else { return true }
        return names.values.reduce(bytes) { $0 + $1.bytes.count } <= room
    }

    func syncNames() {
        for change in pendingNames { durableNames[change.name] = change.node }
        pendingNames = []
    }

    /// The power goes and comes back. Names are written in their order, as far as they are.
    func losePower(_ record: Record) {
        let kept = record.number(0...pendingNames.count)
        for change in pendingNames[..<kept] { durableNames[change.name] = change.node }
        (names, pendingNames) = (durableNames, [])
        let fate = record.pick(Fate.allCases)
        for path in names.keys.sorted() { names[path]?.losePower(record, fate) }
    }
}
