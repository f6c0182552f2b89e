import Glibc
import HeadgateCore
import HeadgateData

/// The directory in which a daemon keeps its events, locked for this process as long as this object lives (Behaviour
/// Q9).
package final class DataDirectory {
    let path: String
    private let disk: any Disk
    /// The lock ends when the file is closed, or with the process.
    private var lock: any DiskFile

    /// Creates the directory if it is missing, and locks it.
    package init(_ path: String, on disk: any Disk = SystemDisk()) throws(StoreFault) {
        self.path = path
        self.disk = disk
        do throws(DiskFault) { try disk.makeDirectory(path) } catch {
            throw error.storeFault("cannot create the directory \(path)")
        }
        lock = try DataDirectory.takeLock(in: path, on: disk)
    }

    /// Creates the directory again and locks it, if somebody has taken it or the lock's file away.
    func holdAgain() throws(StoreFault) {
        guard !lock.isStill(at: DataDirectory.lockPath(in: path)) else { return }
        do throws(DiskFault) { try disk.makeDirectory(path) } catch {
            throw error.storeFault("cannot create the directory \(path)")
        }
        lock = try DataDirectory.takeLock(in: path, on: disk)
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

    private func freeName(_ wanted: String) -> String {
        var name = wanted
        var count = 1
        while disk.exists(name) {
            count += 1
            name = "\(wanted)-\(count)"
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
        guard isOurs else { throw .inUse("\(path) is used by another headgated (pid \(owner(file)))") }
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
