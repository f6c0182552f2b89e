import Glibc

/// A file of a log.
struct LogFile: Hashable {
    var number: UInt32
    /// Bytes that it takes.
    var size: Int
}

/// The files of a log, all in one directory: those in use, and some to be used next.
///
/// A file is filled with zeros before it is used: only then does a write change nothing but the bytes written, and a sync takes
/// half its time. A file that holds nothing any more is used again. Where there is no room for one of the usual size, a smaller one
/// has to do.
final class LogFiles {
    let directory: String
    private let disk: any Disk
    private let segmentSize: Int
    /// Whether what is written to segments mostly goes past the page cache.
    private let isDirect: Bool
    /// Files that are ready to be used.
    @exclusivity(unchecked) private var spare: [LogFile] = []
    private var newest: UInt32 = 0
    /// Bytes of each file.
    private var sizes: [UInt32: Int] = [:]
    /// Bytes of all files.
    @exclusivity(unchecked) private(set) var bytes = 0
    /// There was no room for another file, and none has been needed since.
    @exclusivity(unchecked) private var isOutOfRoom = false
    /// One that is being made ready.
    private var unready: UnreadyFile?

    /// So many files are kept ready, not more.
    private static let mostSpare = 2
    /// A segment is made ready in so many steps, unless these are small.
    private static let steps = 32
    private static let leastStep = 256 << 10
    /// So many damaged pieces are kept.
    private static let mostPutAside = 64
    /// Bytes of the smallest segment that is worth while.
    private static let leastSegment = 64 << 10

    init(_ directory: String, on disk: any Disk, segmentSize: Int, isDirect: Bool) {
        (self.directory, self.disk, self.segmentSize, self.isDirect) = (directory, disk, segmentSize, isDirect)
    }

    func path(_ file: UInt32) -> String {
        let digits = String(file)
        return directory + "/" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits + ".log"
    }

    /// What there is.
    func list() throws(DiskFault) -> [LogFile] {
        var files: [LogFile] = []
        for name in try disk.list(directory) {
            guard name.hasSuffix(".log"), let number = UInt32(name.dropLast(4)) else { continue }
            let file = LogFile(number: number, size: try open(number).size())
            files.append(file)
            note(file)
            newest = max(newest, number)
        }
        return files
    }

    func isThere(_ file: UInt32) -> Bool { disk.exists(path(file)) }

    func open(_ file: UInt32) throws(DiskFault) -> any DiskFile {
        try disk.open(path(file), creating: false)
    }

    // MARK: For the next segment

    /// A file of some size at least, filled with zeros or with what is void, and there to stay.
    func take(atLeast need: Int) throws(DiskFault) -> LogFile {
        isOutOfRoom = false
        while need <= segmentSize {
            if let ready = spare.popLast() { return ready }
            guard unready != nil else { break }
            try makeReady(waiting: true)
        }
        var size = max(need, segmentSize)
        let least = max(need, min(LogFiles.leastSegment, segmentSize))
        while true {
            do throws(DiskFault) { return try make(size) } catch {
                guard error.isNoRoom, size > least else { throw error }
                size = max(size / 2, least)
            }
        }
    }

    /// A file that nobody has ever used.
    func make(_ size: Int) throws(DiskFault) -> LogFile {
        var file = try begin(size)
        while !file.isFull { try fill(&file, waiting: true) }
        return file.file
    }

    private func begin(_ size: Int) throws(DiskFault) -> UnreadyFile {
        let number = try makeEmpty()
        do throws(DiskFault) {
            let handle = try open(number)
            // What lengthens a file is not written meanwhile.
            if isDirect { try handle.preallocate(size) }
            return UnreadyFile(file: LogFile(number: number, size: size), handle: handle, isDirect: isDirect)
        } catch {
            try? disk.remove(path(number))
            throw error
        }
    }

    /// Fills some more of a file; one that is full is there to stay.
    private func fill(_ file: inout UnreadyFile, waiting: Bool) throws(DiskFault) {
        do throws(DiskFault) {
            try file.fill(max(segmentSize / LogFiles.steps, LogFiles.leastStep), waiting: waiting)
            guard file.isFull else { return }
            try disk.syncDirectory(directory)
        } catch {
            try? disk.remove(path(file.file.number))
            throw error
        }
        note(file.file)
    }

    /// Whether the next segment has its file.
    var isReady: Bool { !spare.isEmpty }

    /// Whether something can be done now for a file that should be made ready.
    var isShort: Bool { spare.isEmpty && !isOutOfRoom && unready?.handle.isWriting != true }

    /// Makes a file ready bit by bit, so that the next segment need not wait for it, nor others for long meanwhile.
    /// - Parameter waiting: whether to wait for a piece that is being written.
    func makeReady(waiting: Bool = false) throws(DiskFault) {
        do throws(DiskFault) {
            var file: UnreadyFile
            if let unready { file = unready } else { file = try begin(segmentSize) }
            unready = nil
            try fill(&file, waiting: waiting)
            if file.isFull { spare.append(file.file) } else { unready = file }
        } catch {
            isOutOfRoom = error.isNoRoom
            throw error
        }
    }

    /// Takes note of how large a file is.
    func note(_ file: LogFile) {
        bytes += file.size - (sizes[file.number] ?? 0)
        sizes[file.number] = file.size
    }

    /// A file of nothing yet, for what is written once.
    func makeEmpty() throws(DiskFault) -> UInt32 {
        newest += 1
        _ = try disk.open(path(newest), creating: true)
        return newest
    }

    /// Makes the names of new files stay.
    func syncNames() throws(DiskFault) {
        try disk.syncDirectory(directory)
    }

    // MARK: Not needed any more

    /// Gives a damaged file a name under which it is not looked at again.
    /// - Returns: the name.
    func setAside(_ file: LogFile) throws(DiskFault) -> String {
        var name = path(file.number) + ".damaged"
        while disk.exists(name) { name += "-again" }
        try disk.rename(path(file.number), to: name)
        try disk.syncDirectory(directory)
        leave(file)
        return name
    }

    /// Keeps bytes of a segment that were found damaged for people to look into, some of them: the segment is used again.
    func putAside(_ bytes: [UInt8], as name: String) {
        let folder = directory + "/damaged"
        do throws(DiskFault) {
            try disk.makeDirectory(folder)
            guard try disk.list(folder).count < LogFiles.mostPutAside else { return }
            let file = try disk.open(folder + "/" + name, creating: true)
            try bytes.lend { (bytes) throws(DiskFault) in try file.write(bytes, at: 0) }
        } catch {
            // It is for people, and nothing relies on it.
        }
    }

    private func leave(_ file: LogFile) {
        note(LogFile(number: file.number, size: 0))
        sizes[file.number] = nil
    }

    /// Nobody needs what a file holds, and nothing that is on the disk says otherwise.
    func free(_ file: LogFile) {
        isOutOfRoom = false
        if spare.count < LogFiles.mostSpare, file.size == segmentSize { return spare.append(file) }
        // What stays is found at the next start.
        try? disk.remove(path(file.number))
        leave(file)
    }
}

/// A file that is being filled with zeros, so that all of it has its place on the disk.
private struct UnreadyFile {
    let file: LogFile
    let handle: any DiskFile
    private let isDirect: Bool
    private var filled = 0

    /// Never written to, so that the system has one page for all of them; it is the beginning of a page. They live as long as the program.
    private nonisolated(unsafe) static let zeros: UnsafeRawBufferPointer = {
        let size = 1 << 20
        let memory = mmap(nil, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else { fatalError("no memory for \(size) zeros") }
        return UnsafeRawBufferPointer(start: memory, count: size)
    }()

    init(file: LogFile, handle: any DiskFile, isDirect: Bool) {
        (self.file, self.handle, self.isDirect) = (file, handle, isDirect)
    }

    /// Whether it is full, and on the disk.
    private(set) var isFull = false

    /// Fills so many bytes more, or waits for those that are being written. They are on the disk once all are.
    mutating func fill(_ step: Int, waiting: Bool) throws(DiskFault) {
        guard try handle.endWrite(waiting: waiting) else { return }
        guard filled < file.size else {
            try handle.sync()
            isFull = true
            return
        }
        let zeros = UnsafeRawBufferPointer(
            rebasing: UnreadyFile.zeros[..<min(step, file.size - filled, UnreadyFile.zeros.count)])
        if isDirect {
            try handle.beginWrite(zeros, at: filled)
        } else {
            try handle.write(zeros, at: filled)
            // A sync for each step would take most of its time, and whoever waits for a commit would wait for it.
            handle.writeOut(filled..<filled + zeros.count)
        }
        filled += zeros.count
    }
}
