import Glibc

/// A machine's disk, which outlives the daemon: its visible contents, and what would be left after a power failure.
///
/// Written data is safe once its file is synced, and names once their directory is. Unsynced data is lost, kept, or
/// kept in part or in another order, block by block, at random.
final class SimulatedMedium {
    /// A file, independent of its name.
    final class Node {
        fileprivate(set) var bytes: [UInt8] = []
        /// The content that survives a power failure.
        private var durable: [UInt8] = []
        /// The owner of the file's lock.
        weak var holder: AnyObject?
        /// Changes since the last sync.
        private var pending: [Change] = []
        /// The number of changes so far.
        private(set) var changes = 0

        func apply(_ change: Change) {
            change.apply(to: &bytes)
            pending.append(change)
            changes += 1
        }

        func sync() { sync(through: changes) }

        /// Makes the first `count` changes safe.
        func sync(through count: Int) {
            let new = pending.prefix(max(0, count - (changes - pending.count)))
            for change in new { change.apply(to: &durable) }
            pending.removeFirst(new.count)
        }

        /// Flips a bit, both on the disk and in what programs read.
        func corrupt(at offset: Int, bit: UInt8) {
            bytes[offset] ^= bit
            if offset < durable.count { durable[offset] ^= bit }
        }

        /// A failed sync: part of the changes is safe, and the system regards all of them as synced.
        func syncInPart(_ record: Record) {
            for change in pending { change.tear(record)?.apply(to: &durable) }
            pending = []
        }

        fileprivate func losePower(_ record: Record, _ fate: Fate) {
            for change in pending { fate.choose(change, record)?.apply(to: &durable) }
            (bytes, pending) = (durable, [])
        }
    }

    /// A change of a file.
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

        /// Returns the whole change, nothing, or the beginning of a write up to the end of a block.
        func tear(_ record: Record) -> Change? {
            guard case .write(let bytes, let offset) = self, record.oneIn(2) else {
                return record.oneIn(2) ? self : nil
            }
            let end = record.number(0...bytes.count / Change.block) * Change.block
            return end == 0 ? nil : .write(Array(bytes[..<end]), at: offset)
        }

        static let block = 512
    }

    /// The fate of unsynced changes in a power failure.
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
    /// The total size of all files in bytes, or nil if it is unlimited.
    var room: Int?
    private var durableNames: [String: Node] = [:]
    private var pendingNames: [(name: String, node: Node?)] = []

    func name(_ path: String, _ node: Node?) {
        names[path] = node
        pendingNames.append((path, node))
    }

    /// Returns true if there is room for `bytes` more bytes.
    func hasRoom(for bytes: Int) -> Bool {
        guard let room else { return true }
        return names.values.reduce(bytes) { $0 + $1.bytes.count } <= room
    }

    func syncNames() {
        for change in pendingNames { durableNames[change.name] = change.node }
        pendingNames = []
    }

    /// Loses power and returns. Names are written in order, up to a random point.
    func losePower(_ record: Record) {
        let kept = record.number(0...pendingNames.count)
        for change in pendingNames[..<kept] { durableNames[change.name] = change.node }
        (names, pendingNames) = (durableNames, [])
        let fate = record.pick(Fate.allCases)
        for path in names.keys.sorted() { names[path]?.losePower(record, fate) }
    }
}
