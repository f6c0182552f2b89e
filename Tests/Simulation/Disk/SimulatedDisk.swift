import Glibc

@testable import HeadgateServer
@testable import HeadgateStore

/// The disk as seen by one daemon, from its start to its end. Its calls fail when the history says so, and the daemon
/// may end before any of them. After that nothing reaches the disk any more.
///
/// Unchecked: a history has one thread.
final class SimulatedDisk: Disk, @unchecked Sendable {
    /// The failures that the disk may have.
    struct Mood {
        /// True if no more space can be used.
        var isFull = false
        /// One call in `fails` fails, and one sync in `failsToSync`; nil for none.
        var fails: Int?
        var failsToSync: Int?
        /// One read in `misreads` returns wrong bytes.
        var misreads: Int?
    }

    private let medium: SimulatedMedium
    var mood = Mood()
    /// The number of syncs so far.
    fileprivate(set) var syncs = 0
    /// True if the daemon has ended.
    private(set) var isDown = false
    /// True if a call has failed.
    private(set) var hasFailed = false
    /// The number of further changing calls until the daemon ends.
    var callsToLive: Int?
    /// The number of further calls until a single call fails.
    var callsToFault: Int?
    fileprivate let record: Record
    /// SQLite references the VFS only while a file is open.
    private lazy var sqlite = SQLiteDisk(self)

    init(_ medium: SimulatedMedium, _ record: Record) {
        self.medium = medium
        self.record = record
    }

    /// The name under which SQLite reaches this disk.
    var sqliteName: String { sqlite.name }

    /// True if nothing can fail.
    var isWell: Bool {
        medium.room == nil && !mood.isFull && mood.fails == nil && mood.failsToSync == nil && mood.misreads == nil
            && callsToFault == nil
            && callsToLive == nil && !isDown
    }

    /// Ends the daemon.
    func end() {
        isDown = true
    }

    /// Runs `body` without any failure.
    func whileWell<Result>(_ body: () -> Result) -> Result {
        let before = (mood, callsToFault)
        defer { (mood, callsToFault) = before }
        (mood, callsToFault) = (Mood(), nil)
        return body()
    }

    // MARK: Failures of calls

    /// Begins a call of the disk, which may fail.
    /// - Throws: If the daemon has ended, or the call fails.
    fileprivate func begin(isChange: Bool = true) throws(DiskFault) {
        guard !isDown else { throw DiskFault(code: EIO) }
        if isChange { try countDown() }
        if isFaultDue() || mood.fails.map(record.oneIn) == true {
            record.count(.ioError)
            record.detail("disk: fails")
            hasFailed = true
            throw DiskFault(code: EIO)
        }
    }

    /// Takes space on the disk.
    /// - Throws: If there is no room for `bytes` more bytes.
    fileprivate func take(_ bytes: Int) throws(DiskFault) {
        guard bytes > 0 else { return }
        guard !mood.isFull, medium.hasRoom(for: bytes) else { throw DiskFault(code: ENOSPC) }
    }

    private func isFaultDue() -> Bool {
        guard let left = callsToFault else { return false }
        callsToFault = left > 0 ? left - 1 : nil
        return left == 0
    }

    private func countDown() throws(DiskFault) {
        guard let left = callsToLive else { return }
        guard left == 0 else {
            callsToLive = left - 1
            return
        }
        isDown = true
        throw DiskFault(code: EIO)
    }

    // MARK: Names

    func makeDirectory(_ path: String) throws(DiskFault) {
        try begin()
    }

    func open(_ path: String, creating: Bool) throws(DiskFault) -> any DiskFile {
        try begin(isChange: creating)
        if medium.names[path] == nil {
            guard creating else {
                record.detail("disk: has no \(path)")
                throw DiskFault(code: ENOENT)
            }
            guard !mood.isFull else { throw DiskFault(code: ENOSPC) }
            record.detail("disk: makes \(path)")
            medium.name(path, SimulatedMedium.Node())
        }
        guard let node = medium.names[path] else { throw DiskFault(code: ENOENT) }
        return SimulatedFile(node, path, on: self)
    }

    func exists(_ path: String) -> Bool {
        medium.names[path] != nil
    }

    func list(_ directory: String) throws(DiskFault) -> [String] {
        try begin(isChange: false)
        let prefix = directory + "/"
        return medium.names.keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
            .filter { !$0.contains("/") }.sorted()
    }

    func rename(_ path: String, to new: String) throws(DiskFault) {
        try begin()
        guard let node = medium.names[path] else { throw DiskFault(code: ENOENT) }
        record.detail("disk: renames \(path) to \(new)")
        medium.name(path, nil)
        medium.name(new, node)
    }

    func remove(_ path: String) throws(DiskFault) {
        try begin()
        guard medium.names[path] != nil else { throw DiskFault(code: ENOENT) }
        record.detail("disk: removes \(path)")
        medium.name(path, nil)
    }

    func syncDirectory(_ path: String) throws(DiskFault) {
        try begin()
        record.detail("disk: syncs names")
        medium.syncNames()
    }
}

/// A file on a simulated disk.
private final class SimulatedFile: DiskFile {
    private let node: SimulatedMedium.Node
    /// The path that the file was opened with.
    private let name: String
    private let disk: SimulatedDisk

    init(_ node: SimulatedMedium.Node, _ name: String, on disk: SimulatedDisk) {
        self.node = node
        self.name = name
        self.disk = disk
    }

    func size() throws(DiskFault) -> Int {
        try disk.begin(isChange: false)
        return node.bytes.count
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskFault) -> Int {
        try disk.begin(isChange: false)
        let count = max(0, min(buffer.count, node.bytes.count - offset))
        if count > 0 {
            node.bytes.withUnsafeBytes {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]))
            }
            if let most = disk.mood.misreads, disk.record.oneIn(most) {
                buffer[disk.record.number(0...count - 1)] ^= 1 << UInt8(disk.record.number(0...7))
            }
        }
        return count
    }

    /// Writes bytes. A failed write, and the last one of a daemon, may be done in part.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault) {
        let wasUp = !disk.isDown
        let change = SimulatedMedium.Change.write(Array(bytes), at: offset)
        do throws(DiskFault) {
            try disk.begin()
            try room(through: offset + bytes.count)
            try disk.take(offset + bytes.count - node.bytes.count)
        } catch {
            if wasUp, let part = change.tear(disk.record), error.code != ENOSPC { node.apply(part) }
            throw error
        }
        disk.record.detail("disk: writes \(bytes.count) at \(offset) of \(name)")
        node.apply(change)
    }

    /// Appends bytes, and fills the rest of the block with zeros, as on a machine that writes whole blocks.
    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault) {
        let end = min((offset + bytes.count + 4_095) / 4_096 * 4_096, node.bytes.count)
        let padded = Array(bytes) + [UInt8](repeating: 0, count: max(0, end - offset - bytes.count))
        try padded.withRawBytes { (bytes) throws(DiskFault) in try write(bytes, at: offset) }
        try sync()
    }

    /// Checks the size of a file: a damaged database may request an impossible one.
    private func room(through count: Int) throws(DiskFault) {
        guard count <= SimulatedFile.most else { throw DiskFault(code: ENOSPC) }
    }

    private static let most = 1 << 28

    func resize(to count: Int) throws(DiskFault) {
        try disk.begin()
        try room(through: count)
        disk.record.detail("disk: resizes \(name) to \(count)")
        node.apply(.resize(count))
    }

    func preallocate(_ count: Int) throws(DiskFault) {
        try disk.begin()
        guard count > node.bytes.count else { return }
        try disk.take(count - node.bytes.count)
        node.apply(.resize(count))
    }

    // The simulation is also built as a package of its own, where the protocol's default implementations are not
    // visible.
    func isStill(at path: String, holding count: Int) -> Bool { true }
    func writeOut(_ range: Range<Int>) {}
    func leaveCache() {}

    func sync() throws(DiskFault) { try sync(through: node.changes) }

    private func sync(through changes: Int) throws(DiskFault) {
        try disk.begin()
        disk.syncs += 1
        if disk.mood.failsToSync.map(disk.record.oneIn) == true {
            disk.record.count(.syncFailed)
            node.syncInPart(disk.record)
            throw DiskFault(code: EIO)
        }
        disk.record.detail("disk: syncs \(name)")
        node.sync(through: changes)
    }

    /// The sync in progress: the number of changes it covers, and the number of checks until it ends.
    private var begun: (changes: Int, checks: Int)?

    func beginSync() -> Bool {
        guard begun == nil, !disk.record.oneIn(8) else { return false }
        begun = (node.changes, disk.record.number(0...2))
        return true
    }

    var isSyncing: Bool {
        guard let checks = begun?.checks, checks > 0 else { return false }
        begun?.checks -= 1
        return true
    }

    func endSync() throws(DiskFault) {
        guard let (changes, _) = begun else { return }
        begun = nil
        try sync(through: changes)
        disk.record.count(.syncedAhead)
    }

    /// Locks the file. Returns false if another file of a running daemon has the lock. The lock of a daemon that has
    /// ended is free.
    func lock() throws(DiskFault) -> Bool {
        try disk.begin(isChange: false)
        if let holder = node.holder as? SimulatedFile, holder !== self, !holder.disk.isDown { return false }
        node.holder = self
        return true
    }
}
