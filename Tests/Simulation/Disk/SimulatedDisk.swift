import Glibc

@testable import HeadgateServer
@testable import HeadgateStore

/// The disk as one daemon has it, from its start to its end. Its calls fail when the history says so, and the daemon may
/// be gone before any of them: then nothing that is left of it reaches the disk any more.
///
/// `@unchecked`: a history has one thread.
final class SimulatedDisk: Disk, @unchecked Sendable {
    /// How well it is.
    struct Mood {
        /// Whether there is no room for more than there is.
        var isFull = false
        /// One call in so many fails, and one sync; nil: none.
        var fails: Int?
        var failsToSync: Int?
        /// One read in so many gives something else than there is.
        var misreads: Int?
    }

    private let platter: Platter
    var mood = Mood()
    /// How often something was synced.
    fileprivate(set) var syncs = 0
    /// Whether the daemon is gone.
    private(set) var isDown = false
    /// Whether a call has failed.
    private(set) var hasFailed = false
    /// After how many more calls that change something the daemon is gone.
    var callsToLive: Int?
    /// After how many more calls the daemon is gone once a move counts.
    var callsToLiveMoved: Int?
    /// How many syncs succeed behind the beginning of a move; all others fail until it counts.
    var syncsOfMove: Int?
    fileprivate var isMoving = false
    /// After how many more calls one fails, and no more than that one.
    var callsToFault: Int?
    fileprivate let record: Record
    /// SQLite holds on to it only as long as a file is open.
    private lazy var sqlite = SQLiteDisk(self)

    init(_ platter: Platter, _ record: Record) {
        self.platter = platter
        self.record = record
    }

    var sqliteName: String? { sqlite.name }

    /// Whether nothing will go wrong.
    var isWell: Bool {
        platter.room == nil && !mood.isFull && mood.fails == nil && mood.failsToSync == nil && mood.misreads == nil
            && callsToFault == nil
            && callsToLive == nil && !(isMoving && syncsOfMove != nil) && !isDown
    }

    /// The daemon is gone.
    func end() {
        isDown = true
    }

    /// Does something to which nothing happens.
    func whileWell<Result>(_ body: () -> Result) -> Result {
        let before = (mood, callsToFault, syncsOfMove)
        defer { (mood, callsToFault, syncsOfMove) = before }
        (mood, callsToFault, syncsOfMove) = (Mood(), nil, nil)
        return body()
    }

    // MARK: Common steps of all calls

    /// - Throws: when the daemon is gone, or the call fails.
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

    /// - Throws: where there is no room for so many bytes more.
    fileprivate func take(_ bytes: Int) throws(DiskFault) {
        guard bytes > 0 else { return }
        guard !mood.isFull, platter.hasRoom(for: bytes) else { throw DiskFault(code: ENOSPC) }
    }

    private func isFaultDue() -> Bool {
        guard let left = callsToFault else { return false }
        callsToFault = left > 0 ? left - 1 : nil
        return left == 0
    }

    fileprivate func isSyncFaultDue() -> Bool {
        guard isMoving, let left = syncsOfMove else { return false }
        syncsOfMove = max(0, left - 1)
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
        if creating, path.contains("/moved-to-"), let callsToLiveMoved { callsToLive = callsToLiveMoved }
        if creating { isMoving = path.contains("/moving-to-") || isMoving && !path.contains("/moved-to-") }
        if platter.names[path] == nil {
            guard creating else { throw DiskFault(code: ENOENT) }
            guard !mood.isFull else { throw DiskFault(code: ENOSPC) }
            record.detail("disk: makes \(path)")
            platter.name(path, Platter.Node())
        }
        guard let node = platter.names[path] else { throw DiskFault(code: ENOENT) }
        return SimulatedFile(node, path, on: self)
    }

    func exists(_ path: String) -> Bool {
        platter.names[path] != nil
    }

    func size(of path: String) -> Int {
        platter.names[path]?.bytes.count ?? 0
    }

    func list(_ directory: String) throws(DiskFault) -> [String] {
        try begin(isChange: false)
        let prefix = directory + "/"
        return platter.names.keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
            .filter { !$0.contains("/") }.sorted()
    }

    func rename(_ path: String, to new: String) throws(DiskFault) {
        try begin()
        guard let node = platter.names[path] else { throw DiskFault(code: ENOENT) }
        record.detail("disk: renames \(path) to \(new)")
        platter.name(path, nil)
        platter.name(new, node)
    }

    func remove(_ path: String) throws(DiskFault) {
        try begin()
        guard platter.names[path] != nil else { throw DiskFault(code: ENOENT) }
        record.detail("disk: removes \(path)")
        if path.contains("/moving-to-") { isMoving = false }
        platter.name(path, nil)
    }

    func syncDirectory(_ path: String) throws(DiskFault) {
        try begin()
        record.detail("disk: syncs names")
        platter.syncNames()
    }
}

/// A file on a simulated disk.
private final class SimulatedFile: DiskFile {
    private let node: Platter.Node
    /// What it was opened as.
    private let name: String
    private let disk: SimulatedDisk

    init(_ node: Platter.Node, _ name: String, on disk: SimulatedDisk) {
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

    /// What fails may have been done in part, and so may what the daemon does last.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault) {
        let wasUp = !disk.isDown
        let change = Platter.Change.write(Array(bytes), at: offset)
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

    /// What stands behind is zeros up to the end of the block, as on a machine where whole blocks are written.
    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault) {
        let end = min((offset + bytes.count + 4_095) / 4_096 * 4_096, node.bytes.count)
        let padded = Array(bytes) + [UInt8](repeating: 0, count: max(0, end - offset - bytes.count))
        try padded.lend { (bytes) throws(DiskFault) in try write(bytes, at: offset) }
        try sync()
    }

    /// A database that has rotted may ask for more than there is anywhere.
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

    func sync() throws(DiskFault) { try sync(through: node.changes) }

    private func sync(through changes: Int) throws(DiskFault) {
        try disk.begin()
        disk.syncs += 1
        if disk.isSyncFaultDue() || disk.mood.failsToSync.map(disk.record.oneIn) == true {
            disk.record.count(.syncFailed)
            node.syncInPart(disk.record)
            throw DiskFault(code: EIO)
        }
        disk.record.detail("disk: syncs \(name)")
        node.sync(through: changes)
    }

    /// The sync that has been begun: of so many changes, and how often one looks before it has ended.
    private var begun: (changes: Int, looks: Int)?

    func beginSync() -> Bool {
        guard begun == nil, !disk.record.oneIn(8) else { return false }
        begun = (node.changes, disk.record.number(0...2))
        return true
    }

    var isSyncing: Bool {
        guard let looks = begun?.looks, looks > 0 else { return false }
        begun?.looks -= 1
        return true
    }

    func endSync() throws(DiskFault) {
        guard let (changes, _) = begun else { return }
        begun = nil
        try sync(through: changes)
        disk.record.count(.syncedAhead)
    }

    /// What a daemon held that is gone is free.
    func lock() throws(DiskFault) -> Bool {
        try disk.begin(isChange: false)
        if let holder = node.holder as? SimulatedFile, holder !== self, !holder.disk.isDown { return false }
        node.holder = self
        return true
    }
}
