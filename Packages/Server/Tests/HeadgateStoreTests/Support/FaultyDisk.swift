import Glibc

@testable import HeadgateStore

/// The system's disk, with calls that fail when a test says so. Nothing has to survive a power failure, so nothing is synced.
///
/// `@unchecked`: faults are set by a test's one thread, before others work with the disk.
final class FaultyDisk: Disk, @unchecked Sendable {
    /// The file to which writes succeed, and are reported as failed.
    var liesAbout: String?
    /// The files whose pages the system was asked to drop from memory, in order.
    fileprivate(set) var leftCache: [String] = []
    /// True if syncs fail.
    var failsToSync = false
    /// True if the next sync fails.
    var failsToSyncOnce = false
    /// True if removing a file fails.
    var failsToRemove = false
    /// The paths of the removed files, in order.
    private(set) var removed: [String] = []
    /// True if something was removed that may come back after a power failure.
    var hasUncertainRemovals: Bool { !unsynced.isEmpty }
    /// The directories from which something was removed since they were synced.
    private var unsynced: Set<String> = []
    /// Bytes that all files may have together, and have.
    var room = Int.max
    var taken: Int { sizes.values.reduce(0, +) }
    private var sizes: [String: Int] = [:]
    private let disk = SystemDisk()
    private let onSync: @Sendable () -> Void
    fileprivate let onWrite: @Sendable () -> Void

    /// - Parameters:
    ///   - onSync: called, by whichever thread it is, where something would be synced.
    ///   - onWrite: called at each write.
    init(onSync: @escaping @Sendable () -> Void = {}, onWrite: @escaping @Sendable () -> Void = {}) {
        (self.onSync, self.onWrite) = (onSync, onWrite)
    }

    /// A file reaches so far, if there is room for that.
    fileprivate func reach(_ end: Int, _ path: String) throws(DiskFault) {
        let more = end - (sizes[path] ?? 0)
        guard more > 0 else { return }
        guard taken + more <= room else { throw DiskFault(code: ENOSPC) }
        sizes[path] = end
    }

    fileprivate func synced() throws(DiskFault) {
        if failsToSync || failsToSyncOnce {
            failsToSyncOnce = false
            throw DiskFault(code: 5)
        }
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
