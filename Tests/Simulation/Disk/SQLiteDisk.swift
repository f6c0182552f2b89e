import CSQLite
import Glibc

@testable import HeadgateServer
@testable import HeadgateStore

/// SQLite's extended error codes, whose macros Swift cannot import.
private enum IOFault {
    static let read = SQLITE_IOERR | 1 << 8
    static let shortRead = SQLITE_IOERR | 2 << 8
    static let write = SQLITE_IOERR | 3 << 8
    static let sync = SQLITE_IOERR | 4 << 8
    static let truncate = SQLITE_IOERR | 6 << 8
    static let size = SQLITE_IOERR | 7 << 8
    static let delete = SQLITE_IOERR | 10 << 8
    static let deleteNoEntry = SQLITE_IOERR | 23 << 8
}

/// A simulated disk as an SQLite VFS, registered under a name. It handles each call as SQLite's VFS for Unix does. The
/// memory that processes would share for a log is plain memory here.
final class SQLiteDisk {
    let name: String
    private let system: UnsafeMutablePointer<sqlite3_vfs>
    private let cName: UnsafeMutablePointer<CChar>?

    init(_ disk: SimulatedDisk) {
        system = .allocate(capacity: 1)
        name = "headgate-\(UInt(bitPattern: system))"
        cName = strdup(name)
        var vfs = sqlite3_vfs()
        vfs.iVersion = 1
        vfs.szOsFile = Int32(MemoryLayout<OpenFile>.stride)
        vfs.mxPathname = 512
        vfs.zName = cName.map { UnsafePointer($0) }
        vfs.pAppData = Unmanaged.passUnretained(disk).toOpaque()
        vfs.xOpen = { vfs, name, file, flags, given in SQLiteDisk.open(vfs, name, file, flags, given) }
        vfs.xDelete = { vfs, name, syncs in SQLiteDisk.delete(vfs, name, syncs) }
        vfs.xAccess = { vfs, name, _, result in
            guard let name, let result else { return SQLITE_IOERR }
            result.pointee = SQLiteDisk.disk(vfs).exists(String(cString: name)) ? 1 : 0
            return SQLITE_OK
        }
        vfs.xFullPathname = { _, name, size, target in
            guard let name, let target, strlen(name) < size else { return SQLITE_CANTOPEN }
            strcpy(target, name)
            return SQLITE_OK
        }
        // Constant, so that a history is reproducible.
        vfs.xRandomness = { _, count, target in
            if let target { memset(target, 7, Int(count)) }
            return count
        }
        vfs.xSleep = { _, microseconds in microseconds }
        vfs.xCurrentTime = { _, now in
            now?.pointee = 2_460_000.5
            return SQLITE_OK
        }
        vfs.xGetLastError = { _, _, _ in 0 }
        system.initialize(to: vfs)
        sqlite3_vfs_register(system, 0)
    }

    deinit {
        sqlite3_vfs_unregister(system)
        system.deallocate()
        free(cName)
    }

    // MARK: Names

    private static func disk(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> SimulatedDisk {
        guard let data = vfs?.pointee.pAppData else { preconditionFailure("SQLite forgot its disk") }
        return Unmanaged<SimulatedDisk>.fromOpaque(data).takeUnretainedValue()
    }

    private static func open(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ given: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let name, let file else { return SQLITE_CANTOPEN }
        let disk = disk(vfs)
        let path = String(cString: name)
        file.pointee.pMethods = nil
        let isNew = flags & SQLITE_OPEN_CREATE != 0 && !disk.exists(path)
        guard let opened = try? disk.open(path, creating: flags & SQLITE_OPEN_CREATE != 0) else {
            return SQLITE_CANTOPEN
        }
        let state = FileState(
            opened, disk, syncsName: isNew && flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL) != 0)
        file.withMemoryRebound(to: OpenFile.self, capacity: 1) {
            $0.initialize(to: OpenFile(state: Unmanaged.passRetained(state)))
        }
        given?.pointee = flags
        return SQLITE_OK
    }

    private static func delete(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?, _ syncs: Int32
    ) -> Int32 {
        guard let name else { return IOFault.delete }
        let disk = disk(vfs)
        let path = String(cString: name)
        guard disk.exists(path) else { return IOFault.deleteNoEntry }
        do throws(DiskFault) {
            try disk.remove(path)
            if syncs != 0 { try disk.syncDirectory(path) }
            return SQLITE_OK
        } catch {
            return IOFault.delete
        }
    }
}

extension SimulatedDisk {
    /// Writes a file over itself, if there is one, and syncs it and its name, as the SQLite store does with its log.
    /// - Returns: An `errno`, or 0.
    @Sendable func rewrite(_ path: String) -> Int32 {
        do throws(DiskFault) {
            if exists(path) {
                let file = try open(path, creating: false)
                let bytes = try file.read(0..<(try file.size()))
                try bytes.withRawBytes { (bytes) throws(DiskFault) in try file.write(bytes, at: 0) }
                try file.sync()
            }
            try syncDirectory("/data")
            return 0
        } catch {
            return error.code
        }
    }
}

/// The state of a file opened by SQLite.
private final class FileState {
    let file: any DiskFile
    let disk: SimulatedDisk
    /// True if the file's name is new, and must be synced with its first bytes.
    var syncsName: Bool
    /// Memory that would be shared with other processes.
    var shared: [UnsafeMutableRawPointer] = []

    init(_ file: any DiskFile, _ disk: SimulatedDisk, syncsName: Bool) {
        self.file = file
        self.disk = disk
        self.syncsName = syncsName
    }

    deinit {
        for region in shared { free(region) }
    }

    func sync() throws(DiskFault) {
        try file.sync()
        guard syncsName else { return }
        try disk.syncDirectory("/")
        syncsName = false
    }
}

/// An open file in SQLite's memory, beginning with SQLite's own part.
private struct OpenFile {
    var base: sqlite3_file
    var state: Unmanaged<FileState>

    init(state: Unmanaged<FileState>) {
        self.base = sqlite3_file(pMethods: UnsafePointer(OpenFile.methods))
        self.state = state
    }

    static func state(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Unmanaged<FileState> {
        guard let file else { preconditionFailure("SQLite forgot its file") }
        return file.withMemoryRebound(to: OpenFile.self, capacity: 1) { $0.pointee.state }
    }

    /// Performs an operation on a file.
    /// - Returns: SQLite's result code.
    static func attempt(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ failure: Int32,
        _ work: (FileState) throws(DiskFault) -> Int32
    ) -> Int32 {
        do throws(DiskFault) {
            return try work(state(file).takeUnretainedValue())
        } catch {
            return error.code == ENOSPC ? SQLITE_FULL : failure
        }
    }

    /// Never changed after its creation.
    nonisolated(unsafe) static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
        var methods = sqlite3_io_methods()
        methods.iVersion = 2
        methods.xClose = { file in
            state(file).release()
            return SQLITE_OK
        }
        methods.xRead = { file, target, count, offset in read(file, target, Int(count), Int(offset)) }
        methods.xWrite = { file, bytes, count, offset in
            attempt(file, IOFault.write) { state throws(DiskFault) in
                try state.file.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
                return SQLITE_OK
            }
        }
        methods.xTruncate = { file, count in
            attempt(file, IOFault.truncate) { state throws(DiskFault) in
                try state.file.resize(to: Int(count))
                return SQLITE_OK
            }
        }
        methods.xSync = { file, _ in
            attempt(file, IOFault.sync) { state throws(DiskFault) in
                try state.sync()
                return SQLITE_OK
            }
        }
        methods.xFileSize = { file, size in
            attempt(file, IOFault.size) { state throws(DiskFault) in
                size?.pointee = Int64(try state.file.size())
                return SQLITE_OK
            }
        }
        methods.xLock = { _, _ in SQLITE_OK }
        methods.xUnlock = { _, _ in SQLITE_OK }
        methods.xCheckReservedLock = { _, result in
            result?.pointee = 0
            return SQLITE_OK
        }
        methods.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        methods.xSectorSize = { _ in 4_096 }
        // SQLite's assumption for Unix: bytes next to written ones do not change.
        methods.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
        methods.xShmMap = { file, index, size, extends, target in
            map(file, Int(index), Int(size), extends: extends != 0, target)
        }
        methods.xShmLock = { _, _, _, _ in SQLITE_OK }
        methods.xShmBarrier = { _ in }
        methods.xShmUnmap = { _, _ in SQLITE_OK }
        let pointer = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        pointer.initialize(to: methods)
        return pointer
    }()

    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ target: UnsafeMutableRawPointer?, _ count: Int, _ offset: Int
    ) -> Int32 {
        attempt(file, IOFault.read) { state throws(DiskFault) in
            let buffer = UnsafeMutableRawBufferPointer(start: target, count: count)
            let done = try state.file.read(into: buffer, at: offset)
            guard done < count else { return SQLITE_OK }
            UnsafeMutableRawBufferPointer(rebasing: buffer[done...]).initializeMemory(as: UInt8.self, repeating: 0)
            return IOFault.shortRead
        }
    }

    private static func map(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ index: Int, _ size: Int, extends: Bool,
        _ target: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        let state = state(file).takeUnretainedValue()
        while extends, state.shared.count <= index {
            guard let region = calloc(1, size) else { return SQLITE_NOMEM }
            state.shared.append(region)
        }
        target?.pointee = index < state.shared.count ? state.shared[index] : nil
        return SQLITE_OK
    }
}
