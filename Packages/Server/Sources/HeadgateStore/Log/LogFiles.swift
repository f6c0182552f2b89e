import Glibc
import HeadgateEncryption

/// The files of a log, all in one directory: those in use, and spare ones.
///
/// A file has all its room before it is used. If each commit is synced, it is filled with zeros: then a write changes
/// only the bytes that are written, and a sync takes half its time. A file that is not needed is used again. If there
/// is no room for a file of the usual size, a smaller one is used.
final class LogFiles {
    let directory: String
    /// The keys; nil if nothing is or was encrypted.
    let keyring: Keyring?
    private let disk: any Disk
    private let segmentSize: Int
    /// The bytes of the smallest useful segment.
    private let leastSegmentSize: Int
    /// True if files are filled with zeros before they are used.
    private let isFilled: Bool
    /// The files that are ready to be used.
    @exclusivity(unchecked) private var spare: [LogFile] = []
    private var newest: UInt32 = 0
    /// The bytes of each file.
    private var sizes: [UInt32: Int] = [:]
    /// The bytes of all files.
    @exclusivity(unchecked) private(set) var bytes = 0
    /// True if there was no room for another file, and no file has been freed or needed since.
    @exclusivity(unchecked) private(set) var isOutOfRoom = false
    /// The newest of the files that may have bytes of erased events, or bytes under a former key. These files are removed
    /// instead of used again (Behaviour E1, C2). With keys, they include all files of earlier processes. Nil if there are
    /// none.
    @exclusivity(unchecked) private var newestUnclean: UInt32?
    /// The file that is being prepared.
    private var unready: UnreadyFile?
    /// True if a power failure may take names of new files away, or bring names of removed files back.
    private var hasUncertainNames = false
    /// The files that could not be removed, which take room.
    private(set) var unremoved: Set<UInt32> = []

    /// The most files that are kept ready.
    private static let mostSpare = 2
    /// The number of steps in which a segment's file is prepared, unless these are small.
    private static let steps = 64
    private static let leastStep = 64 << 10
    /// The most damaged pieces that are kept.
    private static let mostPutAside = 64

    init(_ options: StoreOptions) {
        (directory, disk, keyring) = (options.logDirectory, options.disk, options.keyring)
        (segmentSize, leastSegmentSize) = (options.segmentSize, min(options.segmentSize, options.leastSegmentSize))
        isFilled = options.durability == .full
    }

    func path(_ file: UInt32) -> String { directory + "/" + LogFiles.name(file) }

    /// Returns the name of a file.
    static func name(_ file: UInt32) -> String {
        let digits = String(file)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits + ".log"
    }

    /// Returns all files.
    func list() throws(DiskFault) -> [LogFile] {
        var files: [LogFile] = []
        for name in try disk.list(directory) {
            guard name.hasSuffix(".log"), let number = UInt32(name.dropLast(4)) else { continue }
            let file = LogFile(number: number, size: try open(number).size())
            files.append(file)
            note(file)
            newest = max(newest, number)
        }
        if keyring != nil { newestUnclean = newest }
        return files
    }

    func isThere(_ file: UInt32) -> Bool { disk.exists(path(file)) }

    func open(_ file: UInt32) throws(DiskFault) -> any DiskFile {
        try disk.open(path(file), creating: false)
    }

    // MARK: Encryption

    /// Returns the header of a new file, with a seal if the file is to be encrypted.
    func header(
        _ use: LogHeader.Use, _ number: UInt64, behind previous: UInt64 = 0, end: Int = 0
    ) -> LogHeader {
        LogHeader(use: use, number: number, previous: previous, previousEnd: end, seal: keyring?.newSeal())
    }

    /// Returns the object that encrypts the frames of a file; nil if the file is not encrypted.
    func cipher(of header: LogHeader) -> FrameCipher? {
        guard let seal = header.seal else { return nil }
        let cipher = keyring.flatMap { FrameCipher(seal, $0, segment: header.number, header: header.bytes) }
        // A start refuses files whose key is missing, and a new file has a key of the keyring.
        precondition(cipher != nil, "a file of the log cannot be encrypted without its key")
        return cipher
    }

    /// Returns the number of the key that encrypts a file, and 0 if it is not encrypted. Returns nil if the file does
    /// not exist, or has no sound header.
    func key(of file: LogFile) throws(DiskFault) -> UInt16? {
        guard isThere(file.number),
            case .header(let header) = try open(file.number).read(0..<LogHeader.size).withUnsafeBytes(LogHeader.read)
        else { return nil }
        return header.seal?.key ?? 0
    }

    // MARK: For the next segment

    /// Returns a file of at least this size, which holds zeros or obsolete bytes, and whose name is synced.
    func take(atLeast need: Int) throws(DiskFault) -> LogFile {
        isOutOfRoom = false
        while need <= segmentSize {
            if let ready = spare.popLast() { return ready }
            guard unready != nil else { break }
            try makeReady()
        }
        var size = max(need, segmentSize)
        let least = max(need, leastSegmentSize)
        while true {
            do throws(DiskFault) { return try make(size) } catch {
                guard error.isNoRoom, size > least else {
                    isOutOfRoom = error.isNoRoom
                    throw error
                }
                size = max(size / 2, least)
            }
        }
    }

    /// Creates a file that was never used.
    func make(_ size: Int) throws(DiskFault) -> LogFile {
        var file = try begin(size)
        try finish(&file, step: size)
        return file.file
    }

    private func begin(_ size: Int) throws(DiskFault) -> UnreadyFile {
        for file in unremoved { unlink(file) }
        let number = try makeEmpty()
        do throws(DiskFault) {
            let handle = try open(number)
            if !isFilled { try handle.preallocate(size) }
            return UnreadyFile(
                file: LogFile(number: number, size: size), handle: handle, filled: isFilled ? 0 : size)
        } catch {
            unlink(number)
            throw error
        }
    }

    /// Fills some more of a file. The name of a full file is synced.
    private func finish(_ file: inout UnreadyFile, step: Int) throws(DiskFault) {
        do throws(DiskFault) {
            try file.fill(step)
            guard file.isFull else { return }
            try syncNames()
        } catch {
            unlink(file.file.number)
            throw error
        }
        note(file.file)
    }

    /// True if a file is ready for the next segment.
    var isReady: Bool { !spare.isEmpty }

    /// True if a file should be prepared.
    var isShort: Bool { spare.isEmpty && !isOutOfRoom }

    /// Prepares a file, one step at a time, so that neither the next segment nor other work waits long for it.
    func makeReady() throws(DiskFault) {
        do throws(DiskFault) {
            var file: UnreadyFile
            if let unready { file = unready } else { file = try begin(segmentSize) }
            unready = nil
            try finish(&file, step: max(segmentSize / LogFiles.steps, LogFiles.leastStep))
            if file.isFull { spare.append(file.file) } else { unready = file }
        } catch {
            isOutOfRoom = error.isNoRoom
            throw error
        }
    }

    /// Records the size of a file.
    func note(_ file: LogFile) {
        bytes += file.size - (sizes[file.number] ?? 0)
        sizes[file.number] = file.size
    }

    /// Creates an empty file, for content that is written once.
    func makeEmpty() throws(DiskFault) -> UInt32 {
        newest += 1
        hasUncertainNames = true
        _ = try disk.open(path(newest), creating: true)
        return newest
    }

    /// Syncs the names of new files, and the removal of others.
    func syncNames() throws(DiskFault) {
        guard hasUncertainNames else { return }
        try disk.syncDirectory(directory)
        hasUncertainNames = false
    }

    // MARK: Files that are not needed

    /// Renames a damaged file, so that it is not read again.
    /// - Returns: the new name.
    func setAside(_ file: LogFile) throws(DiskFault) -> String {
        var name = path(file.number) + ".damaged"
        while disk.exists(name) { name += "-again" }
        try disk.rename(path(file.number), to: name)
        try disk.syncDirectory(directory)
        leave(file)
        return name
    }

    /// Keeps a copy of a damaged piece of a segment for the operator, because the segment's file is used again. The
    /// number of pieces is limited.
    /// - Returns: false if a piece of this name is kept already.
    @discardableResult
    func putAside(_ bytes: [UInt8], as name: String) -> Bool {
        let folder = directory + "/damaged"
        guard !disk.exists(folder + "/" + name) else { return false }
        do throws(DiskFault) {
            try disk.makeDirectory(folder)
            guard try disk.list(folder).count < LogFiles.mostPutAside else { return true }
            let file = try disk.open(folder + "/" + name, creating: true)
            try file.write(bytes, at: 0)
        } catch {
            // The pieces are for the operator. Without one, the next start counts its events again.
        }
        return true
    }

    /// Removes the files and pieces that were set aside as damaged. They cannot be searched for events.
    func removeSetAside() throws(DiskFault) {
        let folder = directory + "/damaged"
        if disk.exists(folder) {
            for name in try disk.list(folder) { try disk.remove(folder + "/" + name) }
            try disk.syncDirectory(folder)
        }
        for name in try disk.list(directory) where name.contains(".log.damaged") {
            try disk.remove(directory + "/" + name)
        }
        hasUncertainNames = true
    }

    /// Overwrites a file's header, so that the file is not a segment any more.
    func wipe(_ file: LogFile) throws(DiskFault) {
        let handle = try open(file.number)
        try handle.fill(0..<LogHeader.size)
        try handle.sync()
    }

    private func leave(_ file: LogFile) {
        note(LogFile(number: file.number, size: 0))
        sizes[file.number] = nil
    }

    /// Frees a file whose content is not needed, and to which no frame on the disk refers.
    func free(_ file: LogFile) {
        isOutOfRoom = false
        if isClean(file), spare.count < LogFiles.mostSpare, file.size == segmentSize, sizes[file.number] == segmentSize
        {
            return spare.append(file)
        }
        remove(file)
    }

    // MARK: Erased bytes

    /// Removes the spare files, and from now on each present file that is freed. Later files are used again.
    func beginCleaning() {
        newestUnclean = newest
        for file in spare { remove(file) }
        spare = []
    }

    /// True while present files are not used again.
    var isCleaning: Bool { newestUnclean != nil }

    /// Allows all files to be used again.
    func endCleaning() { newestUnclean = nil }

    private func isClean(_ file: LogFile) -> Bool { newestUnclean.map { file.number > $0 } ?? true }

    /// Removes a file of another process, or of this one before it recreated the log: its content is unknown. It may be
    /// of a segment that was never finished, whose number another segment gets.
    func remove(_ file: LogFile) {
        isOutOfRoom = false
        unlink(file.number)
        leave(file)
    }

    /// Removes a file. If that fails, the removal is tried again before another file is created, or at the next start.
    private func unlink(_ file: UInt32) {
        try? disk.remove(path(file))
        hasUncertainNames = true
        if disk.exists(path(file)) { unremoved.insert(file) } else { unremoved.remove(file) }
    }

    /// Returns the files that could not be removed.
    func filesToRemove() throws(DiskFault) -> [LogFile] {
        var files: [LogFile] = []
        for file in unremoved where isThere(file) { files.append(LogFile(number: file, size: try open(file).size())) }
        return files
    }

    /// Syncs the removals, so that no removed file comes back after a power failure, and overwrites files that could not
    /// be removed.
    func makeRemovalsCertain() throws(DiskFault) {
        for file in unremoved { unlink(file) }
        for file in unremoved { try clear(file) }
        try syncNames()
    }

    /// Overwrites all bytes of a file, so that nothing of its events is left (Behaviour E1).
    private func clear(_ file: UInt32) throws(DiskFault) {
        let handle = try open(file)
        try handle.fill(0..<handle.size())
        try handle.sync()
    }
}

/// A file that is being prepared. When it is full, all of it is allocated on the disk.
private struct UnreadyFile {
    let file: LogFile
    let handle: any DiskFile
    private var filled: Int

    /// - Parameter filled: the bytes that need not be filled.
    init(file: LogFile, handle: any DiskFile, filled: Int) {
        (self.file, self.handle, self.filled) = (file, handle, filled)
    }

    var isFull: Bool { filled >= file.size }

    /// Fills more bytes. They are on the disk once the file is full.
    mutating func fill(_ step: Int) throws(DiskFault) {
        let range = filled..<min(file.size, filled + step)
        try handle.fill(range)
        filled = range.upperBound
        // A sync for each step would take most of its time, and commits would wait for it.
        handle.writeOut(range)
        if isFull { try handle.sync() }
    }
}

extension DiskFile {
    /// Fills a range with zeros.
    func fill(_ range: Range<Int>) throws(DiskFault) {
        var position = range.lowerBound
        while position < range.upperBound {
            let count = min(Zeros.bytes.count, range.upperBound - position)
            try write(UnsafeRawBufferPointer(rebasing: Zeros.bytes[..<count]), at: position)
            position += count
        }
    }
}

private enum Zeros {
    /// Mapped memory that is never written to, so that the system uses one page for all of it. It lives as long as the
    /// program.
    nonisolated(unsafe) static let bytes: UnsafeRawBufferPointer = {
        let size = 1 << 20
        let memory = mmap(nil, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else { fatalError("no memory for \(size) zeros") }
        return UnsafeRawBufferPointer(start: memory, count: size)
    }()
}
