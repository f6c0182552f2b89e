import HeadgateCore

/// Verifies the outer checksums of a log whose key is missing (Behaviour C3). They cover the encrypted bytes, and not the
/// order and meaning of the content.
struct LockedVerification {
    let directory: String

    /// - Parameter reason: the reason why the events cannot be read.
    func run(_ reason: String) throws(StoreFault) -> StoreReport {
        var options = StoreOptions(directory: directory)
        options.disk = OverlayDisk()
        let files = LogFiles(options)
        var (frames, damage, all) = (0, [String](), [LogFile]())
        do throws(DiskFault) {
            all = try files.list()
            for file in all {
                let bytes = try files.open(file.number).read(0..<file.size)
                let found = LockedVerification.verify(bytes)
                frames += found.frames
                damage += found.damaged.map { "\($0.count) bytes of \(files.path(file.number)) at \($0.lowerBound)" }
            }
        } catch { throw error.storeFault("cannot read the log in \(options.logDirectory)") }
        return StoreReport(
            kind: "log", reason: reason, files: all.count, frames: frames, bytes: files.bytes, damage: damage)
    }

    /// Returns the number of sound frames of a file, and the damaged ranges before the last of them that was synced.
    private static func verify(_ bytes: [UInt8]) -> (frames: Int, damaged: [Range<Int>]) {
        guard bytes.count > LogHeader.size else { return (0, []) }
        guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read) else {
            let isUsed = bytes.prefix(LogHeader.size).contains { $0 != 0 }
            return (0, isUsed ? [0..<LogHeader.size] : [])
        }
        return bytes[LogHeader.size...].withUnsafeBytes { bytes in
            let start = LogPosition(segment: header.number, offset: LogHeader.size)
            let scan = LogScan(bytes, from: start, behind: header.checksum)
            // A copy and a file of ids are synced as a whole before anything names them.
            let known = header.use == .active ? 0 : bytes.count + LogHeader.size
            let report = SegmentReport(scan, from: LogHeader.size, known: known)
            return (report.frames.count, report.damaged)
        }
    }
}
