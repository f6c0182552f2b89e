import Glibc
import HeadgateCore

/// The directory in which a daemon keeps its events, held for this process alone as long as this object lives
/// (Behaviour Q9).
final class DataDirectory {
    let path: String
    /// The open lock file: the lock goes when it is closed, or with the process.
    private let lock: Int32

    /// Makes the directory if it is missing, and takes the lock.
    init(_ path: String) throws(StoreFault) {
        self.path = path
        try DataDirectory.make(path)
        lock = try DataDirectory.takeLock(in: path)
    }

    deinit {
        close(lock)
    }

    var databasePath: String { path + "/events.db" }

    /// Sees to it that there is a database file which only its owner may read: SQLite gives its other files the same
    /// mode.
    func prepareDatabase() throws(StoreFault) {
        let file = open(databasePath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0, fchmod(file, 0o600) == 0 else {
            let fault = StoreFault.ofSystem("cannot open \(databasePath)")
            if file >= 0 { close(file) }
            throw fault
        }
        close(file)
    }

    /// Makes what the database's log has as safe as what will be committed to it. A daemon that was killed may have written
    /// events that it had no time to sync: who asks for one of these is told that it is stored (Behaviour Q5, Q7).
    func syncLog() throws(StoreFault) {
        try DataDirectory.sync(databasePath + "-wal")
        // The killed daemon may have made the log and not come to write its name down.
        try DataDirectory.sync(path)
    }

    private static func sync(_ path: String) throws(StoreFault) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        if file < 0, errno == ENOENT { return }
        guard file >= 0 else { throw .ofSystem("cannot open \(path)") }
        defer { close(file) }
        guard fdatasync(file) == 0 else { throw .ofSystem("cannot sync \(path)") }
    }

    /// Gives a damaged database a new name, together with the files beside it (Behaviour Q8).
    /// - Returns: the new name.
    func setDatabaseAside() throws(StoreFault) -> String {
        let name = freeName(databasePath + ".damaged-" + DataDirectory.timeForName())
        guard rename(databasePath, name) == 0 else {
            throw .ofSystem("cannot set the damaged \(databasePath) aside")
        }
        for suffix in ["-wal", "-shm"] {
            // Either may be missing.
            _ = rename(databasePath + suffix, name + suffix)
        }
        return name
    }

    private func freeName(_ wanted: String) -> String {
        var name = wanted
        var count = 1
        while access(name, F_OK) == 0 {
            count += 1
            name = "\(wanted)-\(count)"
        }
        return name
    }

    private static func timeForName() -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
            let count = strftime(buffer.baseAddress, buffer.count, "%Y%m%dT%H%M%SZ", &parts)
            return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    private static func make(_ path: String) throws(StoreFault) {
        if mkdir(path, 0o700) == 0 { return syncDirectory(above: path) }
        if errno == ENOENT, let parent = parent(of: path), access(parent, F_OK) != 0 {
            try make(parent)
            return try make(path)
        }
        var status = stat()
        guard errno == EEXIST, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw .ofSystem("cannot make the directory \(path)")
        }
    }

    /// Makes a new directory survive a power failure; without it the database in it would be of no use (Behaviour Q5).
    private static func syncDirectory(above path: String) {
        let directory = open(parent(of: path) ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    private static func parent(of path: String) -> String? {
        guard let end = path.lastIndex(of: "/"), path.count > 1 else { return nil }
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    private static func takeLock(in path: String) throws(StoreFault) -> Int32 {
        let file = open(path + "/headgate.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .ofSystem("cannot open \(path)/headgate.lock") }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(file) }
            guard errno == EWOULDBLOCK else { throw .ofSystem("cannot lock \(path)/headgate.lock") }
            throw .inUse("\(path) is used by another headgated (pid \(owner(file)))")
        }
        let text = Array("\(getpid())\n".utf8)
        // The number is for people; the lock holds without it.
        if ftruncate(file, 0) == 0 { _ = pwrite(file, text, text.count, 0) }
        return file
    }

    private static func owner(_ file: Int32) -> String {
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { buffer in
            let count = max(pread(file, buffer.baseAddress, buffer.count, 0), 0)
            let digits = buffer.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
            return digits.isEmpty ? "unknown" : String(decoding: digits, as: UTF8.self)
        }
    }
}

extension StoreFault {
    /// What the last system call that failed has to say.
    static func ofSystem(_ what: String) -> StoreFault {
        let code = errno
        let message = "\(what): \(String(cString: strerror(code)))"
        return code == ENOSPC || code == EDQUOT ? .noRoom(message) : .failed(message)
    }
}
