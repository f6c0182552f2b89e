import Glibc
import HeadgateCore
import HeadgateData

/// The directory in which a daemon keeps its events, locked for this process as long as this object lives (Behaviour
/// Q9).
package final class DataDirectory {
    let path: String
    private let disk: any Disk
    /// The locked directory itself; nil if the file system has no locks of directories. This lock cannot be
    /// removed without the directory.
    private var folder: (any DiskFile)?
    /// The lock's file, which has the number of the process. Both locks end when they are closed, or with the process.
    private var lock: any DiskFile

    /// Creates the directory if it is missing, and locks it.
    package init(_ path: String, on disk: any Disk = SystemDisk()) throws(StoreFault) {
        self.path = path
        self.disk = disk
        try DataDirectory.make(path, on: disk)
        folder = try DataDirectory.lockFolder(path, on: disk)
        lock = try DataDirectory.takeLock(in: path, on: disk)
    }

    /// Creates and locks the directory again if the directory or its lock file was removed. Throws a fault if another
    /// directory with a log is in its place, because this process did not write that log's events.
    func holdAgain() throws(StoreFault) {
        let isSame = folder?.isStill(at: path, holding: 0) ?? true
        let isLocked = lock.isStill(at: DataDirectory.lockPath(in: path), holding: 0)
        guard !isSame || !isLocked else { return }
        try DataDirectory.make(path, on: disk)
        let newFolder = isSame ? folder : try DataDirectory.lockFolder(path, on: disk)
        let newLock = isLocked ? lock : try DataDirectory.takeLock(in: path, on: disk)
        if !isSame, (try? disk.list(path + "/log"))?.contains(where: { $0.hasSuffix(".log") }) == true {
            throw .failed("\(path) was replaced by a directory with another log; restart the daemon to use it")
        }
        (folder, lock) = (newFolder, newLock)
    }

    private static func make(_ path: String, on disk: any Disk) throws(StoreFault) {
        do throws(DiskFault) { try disk.makeDirectory(path) } catch {
            throw error.storeFault("cannot create the directory \(path)")
        }
    }

    private static func lockPath(in path: String) -> String { path + "/headgate.lock" }

    /// Returns true if the event store uses a name in the data directory.
    package static func owns(_ name: String) -> Bool {
        name == "log" || name == "damaged" || ownPrefixes.contains { name.hasPrefix($0) }
    }

    private static let ownPrefixes = ["log.damaged", "log.unused", "events.db", "headgate.lock"]

    /// Renames a file or directory that cannot be used.
    /// - Parameters:
    ///   - word: the reason, as a part of the new name.
    ///   - time: the time at which that was found.
    /// - Returns: the new name.
    package func setAside(_ path: String, as word: String = "damaged", at time: Timestamp) throws(StoreFault) -> String
    {
        let name = freeName(path + "." + word + "-" + DataDirectory.nameOf(time))
        do throws(DiskFault) { try disk.rename(path, to: name) } catch {
            throw error.storeFault("cannot rename \(path)")
        }
        return name
    }

    private func freeName(_ preferred: String) -> String {
        var name = preferred
        var count = 1
        while disk.exists(name) {
            count += 1
            name = "\(preferred)-\(count)"
        }
        return name
    }

    private static func nameOf(_ time: Timestamp) -> String {
        var seconds = time_t(time.milliseconds / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
            let count = strftime(buffer.baseAddress, buffer.count, "%Y%m%dT%H%M%SZ", &parts)
            return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    /// Locks the directory itself, so that it stays locked if the lock file is removed.
    /// - Returns: nil if the file system has no locks of directories.
    private static func lockFolder(_ path: String, on disk: any Disk) throws(StoreFault) -> (any DiskFile)? {
        guard let folder = try? disk.openDirectory(path), let isOurs = try? folder.lock() else { return nil }
        guard isOurs else { throw inUse(path, (try? disk.open(lockPath(in: path), creating: false))) }
        return folder
    }

    private static func inUse(_ path: String, _ lock: (any DiskFile)?) -> StoreFault {
        .inUse("\(path) is used by another headgated (pid \(lock.map(owner) ?? "unknown"))")
    }

    private static func takeLock(in path: String, on disk: any Disk) throws(StoreFault) -> any DiskFile {
        let name = lockPath(in: path)
        let file: any DiskFile
        let isOurs: Bool
        do throws(DiskFault) {
            file = try disk.open(name, creating: true)
            isOurs = try file.lock()
        } catch {
            throw error.storeFault("cannot lock \(name)")
        }
        guard isOurs else { throw inUse(path, file) }
        // The number is for the operator. The lock does not depend on it.
        try? file.resize(to: 0)
        try? file.write(Array("\(getpid())\n".utf8), at: 0)
        return file
    }

    private static func owner(_ file: any DiskFile) -> String {
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { buffer in
            let count = (try? file.read(into: buffer, at: 0)) ?? 0
            let digits = buffer.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
            return digits.isEmpty ? "unknown" : String(decoding: digits, as: UTF8.self)
        }
    }
}
