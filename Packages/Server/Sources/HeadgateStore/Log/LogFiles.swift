import Glibc

/// A file of a log. Its number says which: it may be shorter than is said of it, when a sync failed or somebody has cut it off.
struct LogFile: Hashable {
    var number: UInt32
    /// Bytes that it takes.
    var size: Int

    static func == (one: LogFile, other: LogFile) -> Bool { one.number == other.number }

    func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// The files of a log, all in one directory: those in use, and some to be used next.
///
/// A file has all its room before it is used. Where each commit is synced it is filled with zeros: only then does a write change nothing
/// but the bytes written, and a sync takes half its time. A file that holds nothing any more is used again. Where there is no room for one of the usual size, a smaller one
/// has to do.
final class LogFiles {
    let directory: String
    private let disk: any Disk
    private let segmentSize: Int
    /// Bytes of the smallest segment that is worth while.
    private let leastSegmentSize: Int
    /// Whether files are filled with zeros before they are used.
    private let isFilled: Bool
    /// Files that are ready to be used.
    @exclusivity(unchecked) private var spare: [LogFile] = []
    private var newest: UInt32 = 0
    /// Bytes of each file.
    private var sizes: [UInt32: Int] = [:]
    /// Bytes of all files.
    @exclusivity(unchecked) private(set) var bytes = 0
    /// There was no room for another file, and none has been needed since.
    @exclusivity(unchecked) private(set) var isOutOfRoom = false
    /// One that is being made ready.
    private var unready: UnreadyFile?
    /// Whether there are names that a power failure may take, or bring back.
    private var hasUncertainNames = false
    /// Files that could not be removed, which take room.
    private var unremoved: Set<UInt32> = []

    /// So many files are kept ready, not more.
    private static let mostSpare = 2
    /// A segment is made ready in so many steps, unless these are small.
    private static let steps = 64
    private static let leastStep = 64 << 10
    /// So many damaged pieces are kept.
    private static let mostPutAside = 64

    init(_ options: StoreOptions) {
        (directory, disk) = (options.logDirectory, options.disk)
        (segmentSize, leastSegmentSize) = (options.segmentSize, min(options.segmentSize, options.leastSegmentSize))
        isFilled = options.durability == .full
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

    /// A file of some size at least, which holds zeros or what is void, and is there to stay.
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

    /// A file that nobody has ever used.
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

    /// Fills some more of a file; one that is full is there to stay.
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

    /// Whether the next segment has its file.
    var isReady: Bool { !spare.isEmpty }

    /// Whether a file should be made ready.
    var isShort: Bool { spare.isEmpty && !isOutOfRoom }

    /// Makes a file ready bit by bit, so that the next segment need not wait for it, nor others for long meanwhile.
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

    /// Takes note of how large a file is.
    func note(_ file: LogFile) {
        bytes += file.size - (sizes[file.number] ?? 0)
        sizes[file.number] = file.size
    }

    /// A file of nothing yet, for what is written once.
    func makeEmpty() throws(DiskFault) -> UInt32 {
        newest += 1
        hasUncertainNames = true
        _ = try disk.open(path(newest), creating: true)
        return newest
    }

    /// Makes the names of new files stay, and those of removed ones go.
    func syncNames() throws(DiskFault) {
        guard hasUncertainNames else { return }
        try disk.syncDirectory(directory)
        hasUncertainNames = false
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

    /// Sees to it that a file says nothing any more of what it is.
    func wipe(_ file: LogFile) throws(DiskFault) {
        let handle = try open(file.number)
        try handle.fill(0..<LogHeader.size)
        try handle.sync()
    }

    private func leave(_ file: LogFile) {
        note(LogFile(number: file.number, size: 0))
        sizes[file.number] = nil
    }

    /// Nobody needs what a file holds, and nothing that is on the disk says otherwise.
    func free(_ file: LogFile) {
        isOutOfRoom = false
        if spare.count < LogFiles.mostSpare, file.size == segmentSize, sizes[file.number] == segmentSize {
            return spare.append(file)
        }
        remove(file)
    }

    /// The same of a file that another daemon has left, or this one before it had to begin anew: nobody knows what is in it. It may be of a
    /// segment that did not come to be, whose number another one gets.
    func remove(_ file: LogFile) {
        isOutOfRoom = false
        unlink(file.number)
        leave(file)
    }

    /// What stays is tried again before another file is made, and found at the next start.
    private func unlink(_ file: UInt32) {
        try? disk.remove(path(file))
        hasUncertainNames = true
        if disk.exists(path(file)) { unremoved.insert(file) } else { unremoved.remove(file) }
    }

    /// Sees to it that what was removed does not come back when the power goes, and says nothing of what it was where it could not be removed.
    func makeRemovalsCertain() throws(DiskFault) {
        for file in unremoved { try wipe(LogFile(number: file, size: 0)) }
        try syncNames()
    }
}

/// A file that is being made ready: all of it has its place on the disk when it is.
private struct UnreadyFile {
    let file: LogFile
    let handle: any DiskFile
    private var filled: Int

    /// - Parameter filled: so many bytes need not be filled.
    init(file: LogFile, handle: any DiskFile, filled: Int) {
        (self.file, self.handle, self.filled) = (file, handle, filled)
    }

    var isFull: Bool { filled >= file.size }

    /// Fills so many bytes more. They are on the disk once all are.
    mutating func fill(_ step: Int) throws(DiskFault) {
        let range = filled..<min(file.size, filled + step)
        try handle.fill(range)
        filled = range.upperBound
        // A sync for each step would take most of its time, and whoever waits for a commit would wait for it.
        handle.writeOut(range)
        if isFull { try handle.sync() }
    }
}

extension DiskFile {
    /// Fills a range with zeros.
    func fill(_ range: Range<Int>) throws(DiskFault) {
        var place = range.lowerBound
        while place < range.upperBound {
            let count = min(Zeros.bytes.count, range.upperBound - place)
            try write(UnsafeRawBufferPointer(rebasing: Zeros.bytes[..<count]), at: place)
            place += count
        }
    }
}

private enum Zeros {
    /// Never written to, so that the system has one page for all of them. They live as long as the program.
    nonisolated(unsafe) static let bytes: UnsafeRawBufferPointer = {
        let size = 1 << 20
        let memory = mmap(nil, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else { fatalError("no memory for \(size) zeros") }
        return UnsafeRawBufferPointer(start: memory, count: size)
    }()
}
