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
/// half its time. A file that holds nothing any more is used again.
final class LogFiles {
    let directory: String
    private let disk: any Disk
    private let segmentSize: Int
    /// Files that are ready to be used.
    private var spare: [LogFile] = []
    private var newest: UInt32 = 0

    /// So many files are kept ready, not more.
    private static let mostSpare = 2

    init(_ directory: String, on disk: any Disk, segmentSize: Int) {
        (self.directory, self.disk, self.segmentSize) = (directory, disk, segmentSize)
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
            files.append(LogFile(number: number, size: try open(number).size()))
            newest = max(newest, number)
        }
        return files
    }

    func isThere(_ file: UInt32) -> Bool { disk.exists(path(file)) }

    func open(_ file: UInt32) throws(DiskFault) -> any DiskFile {
        try disk.open(path(file), creating: false)
    }

    // MARK: For the next segment

    /// A file of some size, filled with zeros or with what is void, and there to stay.
    func take(atLeast size: Int) throws(DiskFault) -> LogFile {
        if size <= segmentSize, let ready = spare.popLast() { return ready }
        return try make(max(size, segmentSize))
    }

    /// A file that nobody has ever used.
    func make(_ size: Int) throws(DiskFault) -> LogFile {
        let number = try makeEmpty()
        do throws(DiskFault) {
            let handle = try open(number)
            try handle.fill(through: size)
            try handle.sync()
            try disk.syncDirectory(directory)
        } catch {
            try? disk.remove(path(number))
            throw error
        }
        return LogFile(number: number, size: size)
    }

    /// Whether a file should be made ready.
    var isShort: Bool { spare.isEmpty }

    /// Makes a file ready, so that the next segment need not wait for it.
    func makeReady() throws(DiskFault) {
        spare.append(try make(segmentSize))
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

    /// Nobody needs what a file holds, and nothing that is on the disk says otherwise.
    func free(_ file: LogFile) {
        if spare.count < LogFiles.mostSpare, file.size == segmentSize { return spare.append(file) }
        // What stays is found at the next start.
        try? disk.remove(path(file.number))
    }
}

extension DiskFile {
    /// Fills a file with zeros, so that all of it has its place on the disk.
    fileprivate func fill(through size: Int) throws(DiskFault) {
        let zeros = [UInt8](repeating: 0, count: min(size, 1 << 20))
        for offset in stride(from: 0, to: size, by: zeros.count) {
            try zeros.lend { (bytes) throws(DiskFault) in
                try write(UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, size - offset)]), at: offset)
            }
        }
    }
}
