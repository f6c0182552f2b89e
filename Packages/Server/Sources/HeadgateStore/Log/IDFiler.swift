import HeadgateCore

/// Gives the ids of clients a file of their own, step by step, so that no commit waits for much of it (Behaviour Q7).
///
/// The next segment's snapshot names the file. A start before that has the ids from the active segment, and does not know the
/// file.
struct IDFiler {
    /// The file that is being written.
    private var filing: LogIDs.Filing?
    /// The bytes of ids that are worth a file.
    private let least: Int
    private let bytesPerStep: Int
    private let leastPacked: Int

    /// The number of steps for a file as large as a segment: 64 KiB each, by default.
    private static let steps = 128

    init(_ options: StoreOptions) {
        (least, leastPacked) = (options.mostUnfiledIDBytes, options.leastPacked)
        bytesPerStep = options.segmentSize / IDFiler.steps
    }

    /// Returns true if a file is being written, or the ids are so many that one should be.
    func isDue(_ ids: LogIDs) -> Bool { filing != nil || ids.recentBytes >= 4 * least }

    /// Begins a file, writes some of it, or ends it.
    /// - Parameter number: returns an unused segment number.
    mutating func step(_ ids: inout LogIDs, in files: LogFiles, number: () -> UInt64) throws(DiskFault) {
        guard var written = filing else { return try begin(ids, in: files, number: number) }
        guard !written.isWritten else { return try end(&ids, in: files) }
        do throws(DiskFault) { try written.step(bytesPerStep) } catch { throw abandon(error, in: files) }
        filing = written
    }

    /// Ends all files of ids, so that a snapshot may name them. Without room for another file the snapshot has the ids: the
    /// segment has room for them.
    mutating func finishForSnapshot(
        _ ids: inout LogIDs, in files: LogFiles, number: () -> UInt64
    ) throws(DiskFault) {
        do throws(DiskFault) {
            try end(&ids, in: files)
            try begin(ids, in: files, number: number)
            try end(&ids, in: files)
        } catch { guard error.isNoRoom else { throw error } }
        try files.syncNames()
    }

    private mutating func begin(_ ids: LogIDs, in files: LogFiles, number: () -> UInt64) throws(DiskFault) {
        guard ids.recentBytes >= least else { return }
        let header = files.header(.ids, number())
        filing = try ids.beginFile(in: files, under: header, packedFrom: leastPacked)
    }

    private mutating func end(_ ids: inout LogIDs, in files: LogFiles) throws(DiskFault) {
        guard var ended = filing else { return }
        do throws(DiskFault) { try ended.end() } catch { throw abandon(error, in: files) }
        filing = nil
        files.note(ended.file)
        ids.filed(ended)
    }

    private mutating func abandon(_ fault: DiskFault, in files: LogFiles) -> DiskFault {
        if let filing { files.free(LogFile(number: filing.file.number, size: 0)) }
        filing = nil
        return fault
    }
}
