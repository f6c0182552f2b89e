import Glibc

@testable import HeadgateStore

/// The system's disk, with calls that fail as a test requires. Data need not survive a power failure, so that syncs do
/// nothing.
///
/// `@unchecked`: the test's thread sets the faults before other threads use the disk.
final class FaultyDisk: Disk, @unchecked Sendable {
    /// The path of the file whose writes succeed but are reported as failed, or nil.
    var liesAbout: String?
    /// The paths of the files whose pages were dropped from the page cache, in order.
    fileprivate(set) var leftCache: [String] = []
    /// True if syncs fail.
    var failsToSync = false
    /// The number of syncs that succeed before one fails; nil if none fails.
    var syncsUntilFault: Int?
    /// True if removing a file fails.
    var failsToRemove = false
    /// The paths of the removed files, in order.
    private(set) var removed: [String] = []
    /// True if a removed file may reappear after a power failure.
    var hasUncertainRemovals: Bool { !unsynced.isEmpty }
    /// The directories in which a file was removed since their last sync.
    private var unsynced: Set<String> = []
    /// The most bytes that all files may have together.
    var room = Int.max
    var taken: Int { sizes.values.reduce(0, +) }
    private var sizes: [String: Int] = [:]
    private let disk = SystemDisk()
    private let onSync: @Sendable () -> Void
    fileprivate let onWrite: @Sendable () -> Void

    /// - Parameters:
    ///   - onSync: called in place of each sync, on the thread that syncs.
    ///   - onWrite: called at each write.
    init(onSync: @escaping @Sendable () -> Void = {}, onWrite: @escaping @Sendable () -> Void = {}) {
        (self.onSync, self.onWrite) = (onSync, onWrite)
    }

    /// Extends a file's counted size to `end` bytes. Throws `ENOSPC` if there is no room.
    fileprivate func reach(_ end: Int, _ path: String) throws(DiskFault) {
        let more = end - (sizes[path] ?? 0)
        guard more > 0 else { return }
        guard taken + more <= room else { throw DiskFault(code: ENOSPC) }
        sizes[path] = end
    }

    fileprivate func synced() throws(DiskFault) {
        guard !failsToSync, syncsUntilFault != 0 else {
            syncsUntilFault = nil
            throw DiskFault(code: 5)
        }
        syncsUntilFault? -= 1
        onSync()
    }

    func makeDirectory(_ path: String) throws(DiskFault) { try disk.makeDirectory(path) }

    func open(_ path: String, creating: Bool) throws(DiskFault) -> any DiskFile {
        let file = try disk.open(path, creating: creating)
        sizes[path] = try file.size()
        return FaultyFile(file, path, on: self)
    }

    func exists(_ path: String) -> Bool { disk.exists(path) }
    func list(_ directory: String) throws(DiskFault) -> [String] { try disk.list(directory) }
    func rename(_ path: String, to new: String) throws(DiskFault) { try disk.rename(path, to: new) }
    func remove(_ path: String) throws(DiskFault) {
        if failsToRemove { throw DiskFault(code: 5) }
        try disk.remove(path)
        removed.append(path)
        sizes[path] = nil
        unsynced.insert(path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ".")
    }
    func syncDirectory(_ path: String) throws(DiskFault) { unsynced.remove(path) }
}

private final class FaultyFile: DiskFile {
    private let file: any DiskFile
    private let path: String
    private let disk: FaultyDisk

    init(_ file: any DiskFile, _ path: String, on disk: FaultyDisk) {
        (self.file, self.path, self.disk) = (file, path, disk)
    }

    func size() throws(DiskFault) -> Int { try file.size() }

    func isStill(at path: String, holding count: Int) -> Bool { file.isStill(at: path, holding: count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskFault) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault) {
        try disk.reach(offset + bytes.count, path)
        try file.write(bytes, at: offset)
        disk.onWrite()
        if disk.liesAbout == path { throw DiskFault(code: 5) }
    }

    func resize(to count: Int) throws(DiskFault) { try file.resize(to: count) }
    func preallocate(_ count: Int) throws(DiskFault) {
        try disk.reach(count, path)
        try file.preallocate(count)
    }

    func sync() throws(DiskFault) { try disk.synced() }

    private var hasBegun = false

    func beginSync() -> Bool {
        hasBegun = true
        return true
    }

    func endSync() throws(DiskFault) {
        guard hasBegun else { return }
        hasBegun = false
        try disk.synced()
    }

    func leaveCache() { disk.leftCache.append(path) }

    func lock() throws(DiskFault) -> Bool { try file.lock() }
}
