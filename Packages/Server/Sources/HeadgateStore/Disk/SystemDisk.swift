import CDisk
import Glibc
import HeadgateCore
import HeadgateTransport

/// The machine's file system.
package final class SystemDisk: Disk {
    private let context = Context()

    package init() {}

    package var syncTimes: SyncTimes? { context.times }

    /// The background sync, shared by all files.
    struct Context: Sendable {
        let times = SyncTimes()
        let background = BackgroundSync()
    }

    package func makeDirectory(_ path: String) throws(DiskFault) {
        if mkdir(path, 0o700) == 0 {
            // A power failure can lose the directory until its name in the parent directory is synced. Some file
            // systems cannot sync a directory.
            try? syncDirectory(SystemDisk.parent(of: path))
            return
        }
        if errno == ENOENT, SystemDisk.parent(of: path) != path, !exists(SystemDisk.parent(of: path)) {
            try makeDirectory(SystemDisk.parent(of: path))
            return try makeDirectory(path)
        }
        let fault = DiskFault.last
        var status = stat()
        guard fault.code == EEXIST, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { throw fault }
    }

    /// Opens a file for writing. It is never reached through a symbolic link, and a regular file only (Behaviour X8).
    package func open(_ path: String, creating: Bool) throws(DiskFault) -> any DiskFile {
        let file = try SystemFile(path, flags: O_RDWR | O_NOFOLLOW | (creating ? O_CREAT : 0), context)
        try file.refuseForeign(at: path)
        if creating { try file.makePrivate() }
        return file
    }

    package func openDirectory(_ path: String) throws(DiskFault) -> (any DiskFile)? {
        try SystemFile(path, flags: O_RDONLY | O_DIRECTORY, context)
    }

    /// Opens a file for reading only.
    func openForReading(_ path: String) throws(DiskFault) -> any DiskFile {
        try SystemFile(path, flags: O_RDONLY, context)
    }

    package func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    package func list(_ directory: String) throws(DiskFault) -> [String] {
        guard let stream = opendir(directory) else { throw .last }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Returns true if a data directory has files of a log.
    package func hasLog(in directory: String) -> Bool {
        (try? list(directory + "/log"))?.contains { $0.hasSuffix(".log") } == true
    }

    package func rename(_ path: String, to new: String) throws(DiskFault) {
        try DiskFault.check(Glibc.rename(path, new))
    }

    package func remove(_ path: String) throws(DiskFault) {
        try DiskFault.check(unlink(path))
    }

    package func syncDirectory(_ path: String) throws(DiskFault) {
        let directory = try SystemFile(path, flags: O_RDONLY | O_DIRECTORY, context)
        try directory.syncAll()
    }

    private static func parent(of path: String) -> String {
        guard let end = path.lastIndex(of: "/") else { return "." }
        return end == path.startIndex ? "/" : String(path[..<end])
    }
}

/// A file of the machine.
private final class SystemFile: DiskFile {
    private let descriptor: Int32
    private let context: SystemDisk.Context
    /// The direct writer; nil if there is none, or it has not been needed.
    private var direct: DirectWriter?
    private var isDirectTried = false
    private var isLocked = false
    /// The file's identity, which stays the same as long as the file is open.
    private lazy var identity: cdisk_identity? = {
        var identity = cdisk_identity()
        return cdisk_identify(descriptor, "", &identity) ? identity : nil
    }()

    /// New files are for their owner alone (Behaviour Q9).
    init(_ path: String, flags: Int32, _ context: SystemDisk.Context) throws(DiskFault) {
        self.context = context
        descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .last }
    }

    deinit {
        // The descriptor's number soon belongs to another file.
        try? endSync()
        // Closing alone would leave the lock with a program that another thread is just starting: until that program
        // runs, it has all open files.
        if isLocked { flock(descriptor, LOCK_UN) }
        close(descriptor)
    }

    /// Refuses a file that is not regular, or that another user has put into the directory.
    func refuseForeign(at path: String) throws(DiskFault) {
        guard OwnFile.isTrusted(descriptor, at: path) else { throw DiskFault(code: EPERM) }
    }

    func makePrivate() throws(DiskFault) {
        try DiskFault.check(fchmod(descriptor, 0o600))
    }

    func size() throws(DiskFault) -> Int {
        var status = stat()
        try DiskFault.check(fstat(descriptor, &status))
        return Int(status.st_size)
    }

    func isStill(at path: String, holding count: Int) -> Bool {
        var named = cdisk_identity()
        guard let own = identity, cdisk_identify(AT_FDCWD, path, &named) else { return false }
        return (own.inode, own.major, own.minor) == (named.inode, named.major, named.minor) && named.size >= count
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskFault) -> Int {
        var done = 0
        while done < buffer.count {
            let count = pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last }
            guard count > 0 else { break }
            done += count
        }
        return done
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault) {
        if try direct?.writeOn(bytes, at: offset, self) == true { return }
        direct?.forget()
        var done = 0
        while done < bytes.count {
            let count = pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last }
            done += count
        }
    }

    func resize(to count: Int) throws(DiskFault) {
        direct?.forget()
        try DiskFault.check(ftruncate(descriptor, off_t(count)))
    }

    func preallocate(_ count: Int) throws(DiskFault) {
        // The call returns the error number.
        let code = posix_fallocate(descriptor, 0, off_t(count))
        guard code == 0 else { throw DiskFault(code: code) }
    }

    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault) {
        let code = try context.times.measure { () throws(DiskFault) in
            if try directWriter()?.write(bytes, at: offset, self) != true { try write(bytes, at: offset) }
            return fdatasync(descriptor)
        }
        try DiskFault.check(code)
    }

    private func directWriter() -> DirectWriter? {
        if !isDirectTried { (direct, isDirectTried) = (DirectWriter(descriptor), true) }
        return direct
    }

    /// The size is synced with the bytes. The times of changes are not, because the store does not use them.
    func sync() throws(DiskFault) {
        try DiskFault.check(context.times.measure { fdatasync(descriptor) })
    }

    func beginSync() -> Bool { context.background.begin(descriptor) }

    var isSyncing: Bool { context.background.isInProgress(on: descriptor) }

    func endSync() throws(DiskFault) { try context.background.end(on: descriptor) }

    func writeOut(_ range: Range<Int>) {
        _ = cdisk_write_out(descriptor, Int64(range.lowerBound), Int64(range.count))
    }

    func leaveCache() {
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
    }

    func syncAll() throws(DiskFault) {
        try DiskFault.check(fsync(descriptor))
    }

    func lock() throws(DiskFault) -> Bool {
        isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
        guard isLocked || errno == EWOULDBLOCK else { throw .last }
        return isLocked
    }
}

extension DiskFault {
    /// The fault of the last system call.
    static var last: DiskFault { DiskFault(code: errno) }

    fileprivate static func check(_ result: Int32) throws(DiskFault) {
        guard result == 0 else { throw .last }
    }

    /// The fault of a file that was removed.
    static var gone: DiskFault { DiskFault(code: ENOENT) }

    /// True if a file does not exist.
    var isMissing: Bool { code == ENOENT }

    /// True if there was no room.
    var isNoRoom: Bool { code == ENOSPC || code == EDQUOT }

    /// Returns the fault as a ``StoreFault``, for callers outside the disk layer.
    package func storeFault(_ what: String) -> StoreFault {
        if let cause { return cause }
        let reason = code == EFBIG ? "a limit for the size of files (ulimit -f)" : String(cString: strerror(code))
        let message = "\(what): \(reason)"
        return isNoRoom ? .noRoom(message) : .failed(message)
    }
}
