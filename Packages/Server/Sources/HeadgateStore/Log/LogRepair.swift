import Glibc
import HeadgateCore

/// The recovery of a running log, after a failed sync or after files were removed.
extension SegmentLog {
    /// Continues with what is certainly on the disk, and writes the rest again, as a start does. Does nothing if the log is
    /// sound.
    func repair() throws(DiskFault) {
        if isGone { try recreate() }
        guard isBroken else { return }
        let (segment, end) = (active.segment, active.segment.position(active.end))
        var recovery = LogRecovery(
            options, written: .init(end: end, certain: active.certain, given: state.lastSequenceNumber))
        let recovered: LogRecovery.Outcome
        do throws(RecoveryFault) { recovered = try recovery.run() } catch {
            if case .disk(let fault) = error { throw fault }
            guard case .gone = error, !isInPlace else { throw DiskFault(code: EIO) }
            return try recreate()
        }
        adopt(
            recovered.files, recovered.state, recovered.sealed, recovered.active, nextNumber: recovered.nextNumber)
        let left = (sealed[segment.number]?.index.total.events ?? 0) + active.segment.index.total.events
        losses.quarantined += max(0, segment.index.total.events - left)
    }

    /// Continues in a new segment after files were removed, with the whole state except the events in these files. The
    /// lost events are counted. Nothing is written while another process has the data directory (Behaviour Q9).
    private func recreate() throws(DiskFault) {
        do throws(StoreFault) { try dataDirectory?.holdAgain() } catch { throw DiskFault(code: EBUSY, cause: error) }
        try options.disk.makeDirectory(options.logDirectory)
        try options.disk.syncDirectory(options.directory)
        let files = LogFiles(options)
        _ = try files.list()
        let gone = state.segments.filter { !files.isThere($0.file.number) }
        // If the active segment's file is still there, the segment is sealed like the others.
        let kept = isInPlace ? try seal() : nil
        var next = state
        let former = kept == nil ? [active.segment.number] : []
        next.lose(gone.map(\.number) + former, andFilesOfIDs: { !files.isThere($0.number) })
        if let kept { next.segments.append(kept) }
        let file = try files.take(atLeast: ActiveSegment.size(for: next))
        let number = takeNumber()
        let header = files.header(.active, number, behind: kept?.number ?? 0, end: kept?.end ?? 0)
        let new = ActiveSegment(LogSegment(number, file, in: files, blockSize: options.blockSize), header, next)
        try new.begin(synced: true)
        let indexes = gone.map { self.index(of: $0) } + (kept == nil ? [active.segment.index] : [])
        let needed = state.needed
        losses.renewed = (losses.renewed ?? 0) + indexes.reduce(0) { $0 + needed.events(of: $1) }
        var sealed = sealed.all
        if kept != nil {
            active.segment.seal()
            sealed[active.segment.number] = active.segment
        }
        adopt(files, next, sealed, new)
    }

    /// Returns true if a segment's file no longer exists. If the active segment's file was removed, the log is
    /// recreated first.
    func hasLost(_ segment: LogSegment) throws(DiskFault) -> Bool {
        if !isInPlace { isGone = true }
        try repair()
        return !files.isThere(segment.file.number)
    }
}
