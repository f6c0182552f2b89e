import Glibc
import HeadgateCore

/// The log of a data directory: a chain of segments, of which the last is active, and the state that all written frames make
/// together (Behaviour Q1).
///
/// The engine's owner uses the log and everything in this folder, one thread at a time. Commits are not checked for
/// exclusive access at run time: no callee knows the log.
///
/// # Invariants
/// Each of them names the code that keeps it. `Docs/Store.md` has the same list with its context.
///
///  1. An append is answered after a sync that covers its frame and all frames before it (`durability: full`).
///     ``write(_:)`` asks ``ActiveSegment/write(synced:)`` for that sync.
///  2. A frame counts only if its checksum holds, which covers the segment's number and the frame's offset, and if it names
///     the frame before it (``LogFrame``, ``LogScan``). Bytes of an earlier use of a file are never a frame of this use.
///  3. Nothing that was read from the disk is relied on before this process has synced it. A start proves doubtful frames by
///     a later frame, or writes them again (``SegmentReport``, ``LogRecovery``).
///  4. A sync that fails is never repeated. The log is broken then (`isBroken`), and ``repair()`` continues with the certain
///     frames in a new segment, as a start does.
///  5. Sequence numbers and segment numbers are given once. A start counts on from the highest number that anything
///     mentions, and from damaged bytes that may have been events (``LogRecovery``, ``takeNumber()``).
///  6. A file is freed after the frame that makes it obsolete is synced. Until then it is one of ``SealedSegments``'s
///     obsolete files.
///  7. A file becomes a segment by its header, which is written last (``ActiveSegment/begin(synced:)``). The file's name is
///     synced before anything refers to it (``LogFiles/syncNames()``).
///  8. The state changes only by applying frames. The running log (``SegmentLog``) and a start (``LogRecovery``) apply the same
///     changes in the same order to a ``LogState``.
///  9. ``Needed`` alone decides what is kept. Freeing, copying and counting ask it.
/// 10. A group is kept whole or not at all, and only if the group before it is there (`LogTurn.swift`).
/// 11. Jobs are answered in the order of their requests (`LogTurn.swift`).
/// 12. One thread at a time has the engine (``EngineOwnership``).
/// 13. Within a rewind, settlements only grow. A rewind is a frame of its own (``rewind(_:)``).
///
/// # Roles
/// ``ActiveSegment`` encodes and writes frames; ``SealedSegments`` has the segments before it;
/// `LogRepair.swift` has the recovery of a running log, `LogRoom.swift` the rules of a full disk, and `LogDamage.swift` what
/// becomes of damaged blocks and dead letters.
final class SegmentLog {
    let options: StoreOptions
    /// The locked data directory; nil in tests of the log alone.
    let dataDirectory: DataDirectory?
    @exclusivity(unchecked) private(set) var files: LogFiles
    @exclusivity(unchecked) private(set) var state: LogState
    @exclusivity(unchecked) private(set) var sealed: SealedSegments
    @exclusivity(unchecked) private(set) var active: ActiveSegment
    private var nextNumber: UInt64
    /// The retained events, as of the last review.
    private(set) var retained = RetainedEvents.none
    /// True if dropping retained events would make room on the disk, as of the last review.
    private(set) var canDropMoreRetained = false
    /// True if a write or a sync failed, so that the content of the active segment on the disk is unknown.
    @exclusivity(unchecked) private(set) var isBroken = false
    /// True if the active segment's file, or a directory above it, was removed while the daemon runs.
    @exclusivity(unchecked) var isGone = false
    var counts = LogCounts()
    /// The losses that have not been reported yet.
    @exclusivity(unchecked) var losses = LogLosses()

    init(_ recovered: LogRecovery.Outcome, options: StoreOptions, in dataDirectory: DataDirectory? = nil) {
        (self.options, self.dataDirectory) = (options, dataDirectory)
        (files, state, sealed) = (recovered.files, recovered.state, SealedSegments(recovered.sealed))
        (active, nextNumber) = (recovered.active, recovered.nextNumber)
    }

    /// All segments, in the order of their events.
    var segments: [LogSegment] { state.segments.compactMap { sealed[$0.number] } + [active.segment] }

    /// Returns the index of a segment.
    func index(of entry: LogSegmentEntry) -> LogIndex { (sealed[entry.number] ?? active.segment).index }

    /// Creates a segment with an empty index.
    func segment(_ number: UInt64, _ file: LogFile) -> LogSegment {
        LogSegment(number, file, in: files, blockSize: options.blockSize)
    }

    /// Returns an unused segment number. Segment numbers are never reused, even when creating the segment fails.
    func takeNumber() -> UInt64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    // MARK: Writing

    /// Writes entries, as many as fit into the segment.
    /// - Returns: the number of written entries; at least one.
    func write(_ entries: some Sequence<LogEntry>) throws(DiskFault) -> Int {
        do throws(DiskFault) { return try writeInPlace(entries) } catch {
            // A file or a directory of the log was removed. The next write recreates it.
            if error.isMissing { isGone = true }
            throw error
        }
    }

    private func writeInPlace(_ entries: some Sequence<LogEntry>) throws(DiskFault) -> Int {
        try repair()
        if !active.hasRoom() { try roll(for: 0) } else if active.isOutdated { try leaveOutdated(for: entries) }
        var (encoded, misfit) = encode(entries)
        if encoded.isEmpty, let misfit {
            let size = size(of: misfit)
            try roll(for: misfit.isGroup ? size + min(size, LogReserve.most(options)) : size)
            encoded = [EncodedEntry(entry: misfit, range: encode(misfit))]
        }
        try write(encoded)
        return encoded.count
    }

    /// Begins a segment under the present key. On a full disk, changes without events go to the outdated segment:
    /// otherwise the log could not record that events are no longer needed.
    private func leaveOutdated(for entries: some Sequence<LogEntry>) throws(DiskFault) {
        do throws(DiskFault) { try roll(for: 0) } catch {
            guard error.isNoRoom, !entries.contains(where: \.hasEvents) else { throw error }
        }
    }

    /// Writes all entries if a single write is enough: no sync, no repair, and no new segment.
    /// - Returns: false if more is necessary. Then nothing is written.
    func writeAtOnce(_ entries: some Sequence<LogEntry>) throws(DiskFault) -> Bool {
        guard options.durability != .full, !isBroken, active.hasRoom(), !active.isOutdated else { return false }
        let mark = active.mark
        let (encoded, misfit) = encode(entries)
        guard misfit == nil else {
            active.rollBack(to: mark)
            return false
        }
        try write(encoded)
        return true
    }

    /// Encodes entries up to the first that does not fit into the active segment.
    private func encode(_ entries: some Sequence<LogEntry>) -> (encoded: [EncodedEntry], misfit: LogEntry?) {
        var encoded: [EncodedEntry] = []
        var newestDeadLetter = state.deadLetters.newest
        for entry in entries {
            let entry = entry.numbered(behind: &newestDeadLetter)
            let mark = active.mark
            let range = encode(entry)
            guard hasRoom(for: entry) else {
                active.rollBack(to: mark)
                return (encoded, entry)
            }
            encoded.append(EncodedEntry(entry: entry, range: range))
        }
        return (encoded, nil)
    }

    private func encode(_ entry: LogEntry) -> Range<Int> { active.encode(entry, packedFrom: options.leastPacked) }

    /// Returns the bytes that an entry takes at most, with nothing packed.
    private func size(of entry: LogEntry) -> Int {
        let mark = active.mark
        defer { active.rollBack(to: mark) }
        return active.encode(entry, packedFrom: .max).count
    }

    /// Writes the encoded entries, and applies them to the state.
    private func write(_ encoded: [EncodedEntry]) throws(DiskFault) {
        let synced = options.durability == .full && encoded.contains { $0.entry.isGroup }
        do throws(DiskFault) { try active.write(synced: synced) } catch {
            // A sync that failed may have lost earlier writes, and another sync does not reveal that. The frame that a copy
            // replaces its sources may be on the disk in spite of the error, and the next start would believe it.
            if synced || encoded.contains(where: \.entry.isReplacement) { isBroken = true }
            throw error
        }
        // A file without a name is lost with the process, so that writes to it must not be acknowledged.
        guard isInPlace else {
            isGone = true
            throw .gone
        }
        for encoded in encoded { apply(encoded.entry, at: encoded.range) }
    }

    /// True if the active segment's file still has its name and its size.
    var isInPlace: Bool {
        let file = active.segment.file
        return (try? active.segment.open())?.isStill(at: files.path(file.number), holding: file.size) ?? false
    }

    private func apply(_ entry: LogEntry, at range: Range<Int>) {
        switch entry {
        case .group(let group):
            let span = LogGroup.span(of: group)
            state.apply(span)
            state.apply(LogExtras(group))
            active.segment.index.add(span, at: range)
        case .changes(let changes):
            let position = active.segment.position(range.lowerBound)
            losses.droppedDeadLetters.add(state.apply(changes, in: position))
        }
    }

    /// Waits until everything that was written is on the disk.
    func sync() throws(DiskFault) {
        try repair()
        try breaking { () throws(DiskFault) in try active.sync() }
    }

    /// Begins to sync the written frames. The log can write further frames meanwhile.
    func syncAhead() throws(DiskFault) {
        try breaking { () throws(DiskFault) in try active.syncAhead() }
    }

    /// Closes the log in order: everything is on the disk, and the next start writes nothing again.
    func close() throws(DiskFault) {
        try sync()
        try active.close()
    }

    /// Does work, and marks the log as broken if the work fails: then the content of the active segment on the disk is
    /// unknown.
    private func breaking<Value>(_ work: () throws(DiskFault) -> Value) throws(DiskFault) -> Value {
        do throws(DiskFault) { return try work() } catch {
            isBroken = true
            throw error
        }
    }

    // MARK: The next segment

    /// Seals the active segment, and begins another.
    /// - Parameter need: the bytes for which the new segment needs room.
    private func roll(for need: Int) throws(DiskFault) {
        let file = try files.take(atLeast: ActiveSegment.size(for: state) + need)
        let number = takeNumber()
        do throws(DiskFault) {
            try fileIDsForSnapshot()
            let entry = try seal()
            var next = state
            next.segments.append(entry)
            let unneeded = unneeded(next, except: entry.number)
            for entry in unneeded { next.forget(entry.number) }
            let forgotten = next.ids.takeForgottenFiles().map(\.file)
            let header = files.header(.active, number, behind: entry.number, end: entry.end)
            let new = ActiveSegment(segment(number, file), header, next)
            try new.begin(synced: false)
            begin(new, next, obsolete: unneeded.map(\.file) + forgotten)
        } catch {
            files.free(file)
            throw error
        }
    }

    /// Makes a new segment the active one.
    /// - Parameter obsolete: the files that are not needed once the new segment is on the disk.
    private func begin(_ new: ActiveSegment, _ next: LogState, obsolete: [LogFile]) {
        // The frames that made earlier files obsolete lie before the summary, which is synced.
        sealed.freeObsolete(in: files)
        sealed.retire(obsolete)
        active.segment.seal()
        sealed.add(active.segment)
        (active, state) = (new, next)
        counts.begun += 1
        sealed.keep(only: state.segments)
    }

    /// Ends the active segment: no frame follows.
    func seal() throws(DiskFault) -> LogSegmentEntry {
        try breaking { () throws(DiskFault) in try active.seal() }
    }

    // MARK: Files of ids

    /// True if ids should get a file of their own before the next segment begins, which would take long otherwise.
    var areIDsDue: Bool {
        !isBroken && !isOutOfRoom && state.ids.recentBytes >= 4 * options.mostUnfiledIDBytes
    }

    /// Gives the ids a file of their own (Behaviour Q7). The next segment's snapshot names it. A start before that has the ids
    /// from the active segment.
    func fileIDs() throws(DiskFault) {
        try state.ids.fileRecent(
            under: files.header(.ids, takeNumber()), in: files, packedFrom: options.leastPacked)
    }

    /// Gives the ids a file if they are worth one, so that a snapshot may name it. Without room for another file the snapshot
    /// has the ids: the segment has room for them.
    private func fileIDsForSnapshot() throws(DiskFault) {
        if state.ids.recentBytes >= options.mostUnfiledIDBytes {
            do throws(DiskFault) { try fileIDs() } catch { guard error.isNoRoom else { throw error } }
        }
        try files.syncNames()
    }

    // MARK: Making room

    /// Drops segments that are not needed, and frees their files once the frame that drops them is on the disk.
    func makeRoom() throws(DiskFault) {
        try repair()
        var unneeded = unneeded(state, except: standIn)
        let isFull = isOutOfRoom && unneeded.isEmpty && sealed.obsolete.isEmpty
        if try dropRetained(isFull: isFull) { unneeded = self.unneeded(state, except: standIn) }
        if !unneeded.isEmpty {
            _ = try write([.changes([.forgotten(unneeded.map(\.number))])])
            sealed.retire(unneeded.map(\.file))
            counts.forgotten += unneeded.count
            sealed.keep(only: state.segments)
        }
        sealed.retire(state.ids.takeForgottenFiles().map(\.file))
        let bytes = sealed.obsolete.reduce(0) { $0 + $1.size }
        guard bytes >= 2 * options.segmentSize || bytes > 0 && isOutOfRoom else { return }
        try sync()
        sealed.freeObsolete(in: files)
    }

    /// Drops retained events beyond their limits, the oldest first, and more of them on a full disk (Behaviour R1).
    /// - Returns: true if events were dropped.
    private func dropRetained(isFull: Bool) throws(DiskFault) -> Bool {
        guard let retention = state.retention else {
            (retained, canDropMoreRetained) = (.none, false)
            return false
        }
        var review = RetentionReview(retention, state)
        for segment in segments.reversed() where segment.index.events.last > state.unretainedThrough {
            review.take(segment.index, isFreed: segment !== active.segment)
        }
        (retained, canDropMoreRetained) = (review.retained, review.cut.throughOnFullDisk != nil)
        let through = isFull ? review.cut.throughOnFullDisk ?? review.cut.through : review.cut.through
        guard let through, through > state.unretainedThrough else { return false }
        _ = try write([.changes([.unretained(through: through)])])
        return true
    }

    /// Replaces segments by a copy of what is needed of them. The copy is on the disk.
    /// - Returns: false if one of the segments no longer exists. Then the copy must not be used.
    func replace(
        _ numbers: [UInt64], by copy: LogSegment, _ entry: LogSegmentEntry,
        deadLetters: [DeadLetterNumber: DeadLetterPosition]
    ) throws(DiskFault) -> Bool {
        let change = LogEntry.changes([.replaced(numbers, by: entry, deadLetters: deadLetters)])
        // A new segment may drop some of the replaced segments, so it is begun before the copy belongs to the log.
        try makeRoom(for: change)
        let old = state.segments.filter { numbers.contains($0.number) }.map(\.file)
        guard old.count == numbers.count else { return false }
        _ = try write([change])
        sealed.add(copy)
        sealed.retire(old)
        counts.copied += old.count
        sealed.keep(only: state.segments)
        return true
    }

    /// Begins the next segment, unless an entry fits into the active one.
    private func makeRoom(for entry: LogEntry) throws(DiskFault) {
        try repair()
        let mark = active.mark
        let need = encode(entry).count
        let hasRoom = active.hasRoom()
        active.rollBack(to: mark)
        if !hasRoom { try roll(for: need) }
    }

    // MARK: Erasing

    /// Records that events and dead letters are erased (Behaviour E1).
    func erase(_ events: [SequenceNumber], _ deadLetters: [DeadLetterNumber]) throws(DiskFault) {
        _ = try write([.changes([.erased(events), .deadLettersGone(deadLetters)])])
        counts.erased += 1
        // What is written is in force. If it cannot be synced now, the removal of the bytes ends with a sync.
        try? self.sync()
    }

    /// Begins a segment in a file that was never used.
    func beginCleanSegment() throws(DiskFault) {
        try repair()
        files.beginCleaning()
        try roll(for: 0)
    }

    /// Removes all files that are not needed, and records that no file has bytes of erased events.
    func endErasure() throws(DiskFault) {
        try removeUnneeded()
        _ = try dropRetained(isFull: false)
        _ = try write([.changes([.erasureEnded])])
        try self.sync()
        files.endCleaning()
    }

    /// Removes all files that are not needed, after everything needed was written under the present key.
    /// - Parameter former: the files of ids that others have replaced.
    func endRekey(_ former: [LogFile]) throws(DiskFault) {
        try removeUnneeded(former)
        files.endCleaning()
    }

    private func removeUnneeded(_ former: [LogFile] = []) throws(DiskFault) {
        // The next start may need the segment before the active one, so that both must be clean.
        try beginCleanSegment()
        sealed.retire(state.ids.takeForgottenFiles().map(\.file) + former)
        try self.sync()
        sealed.freeObsolete(in: files)
        try files.removeSetAside()
        try files.makeRemovalsCertain()
    }

    /// Replaces a file of ids by another one with the same ids; nil drops it.
    func replaceIDs(_ old: LogIDs.Filed, by new: LogIDs.Filed?) { state.ids.replace(old, by: new) }

    // MARK: After a recovery

    /// Continues with the files, the state and the segments that a recovery returned.
    /// - Parameter sealed: the segments before the active one.
    func adopt(
        _ files: LogFiles, _ state: LogState, _ sealed: [UInt64: LogSegment], _ active: ActiveSegment,
        nextNumber: UInt64 = 0
    ) {
        if self.files.isCleaning { files.beginCleaning() }
        (self.files, self.state, self.active) = (files, state, active)
        self.sealed = SealedSegments(sealed)
        self.sealed.keep(only: state.segments)
        self.nextNumber = max(self.nextNumber, nextNumber)
        (isBroken, isGone) = (false, false)
        counts.recovered += 1
    }
}
