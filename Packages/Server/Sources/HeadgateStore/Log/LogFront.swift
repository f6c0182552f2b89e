import HeadgateCore

/// The segment that is written to: lays frames one behind the other, and writes some of them at a time.
final class LogFront {
    let segment: LogSegment
    /// Where the next frame goes.
    @exclusivity(unchecked) private(set) var end: Int
    /// So many bytes are beyond doubt on the disk.
    @exclusivity(unchecked) private(set) var certain: Int
    /// So many bytes will be when the sync ends that is under way; nil where none is.
    @exclusivity(unchecked) private var syncing: Int?
    /// Where the last such sync was begun, or could not be.
    @exclusivity(unchecked) private var lastBegun = 0
    private let header: LogHeader
    /// The checksum of the last frame.
    @exclusivity(unchecked) private var last: UInt64
    /// Frames that are not written yet, and the checksum of the last of them.
    @exclusivity(unchecked) private var pending = LogWriter()
    @exclusivity(unchecked) private var lastPending: UInt64
    /// Bytes that they will take in the summary.
    @exclusivity(unchecked) private var pendingWeight = 0
    /// Where the summary lies; 0 where there is none.
    @exclusivity(unchecked) private var summary = 0
    /// Where a start went on, and the checksum of the frame before that; nil where it did not.
    private var resumed: (end: Int, last: UInt64)?

    /// Begins a segment with a state, which is laid.
    init(_ segment: LogSegment, _ header: LogHeader, _ state: LogState) {
        (self.segment, self.header) = (segment, header)
        (end, certain) = (LogHeader.size, 0)
        (last, lastPending) = (header.checksum, header.checksum)
        lay(.snapshot) { $0.put(state) }
    }

    /// Goes on behind a frame of a segment that is whole.
    /// - Parameter summary: where its summary lies; 0 where there is none yet.
    init(_ segment: LogSegment, _ header: LogHeader, end: Int, last: UInt64, summary: Int) {
        (self.segment, self.header, self.summary) = (segment, header, summary)
        (self.end, certain, self.last, lastPending) = (end, end, last, last)
    }

    /// Bytes that a segment takes that begins with a state, at least.
    static func size(for state: LogState) -> Int {
        var writer = LogWriter()
        writer.put(state)
        // The segment before it, and the summary at the end, are in it as well.
        return LogHeader.size + 2 * LogFrame.headerSize + writer.bytes.count + 1_024
    }

    // MARK: Laying

    /// Where the next frame begins.
    var next: Int { end + pending.bytes.count }

    /// Whether there is room for what is laid, for the summary at the end, and for some more.
    func hasRoom(beside reserve: Int = 0) -> Bool {
        let summary = LogFrame.headerSize + segment.index.weight + pendingWeight
        return self.summary == 0 && next + summary + reserve <= segment.file.size
    }

    /// Lays a frame.
    /// - Returns: where it lies.
    @discardableResult
    func lay(_ kind: LogFrame.Kind, _ body: (inout LogWriter) -> Void) -> Range<Int> {
        let start = next
        lastPending = pending.frame(
            kind, at: segment.place(start), certain: certain, previous: lastPending, body)
        return start..<next
    }

    /// Lays an entry.
    /// - Parameter leastPacked: a piece of a group that takes so many bytes is packed.
    func lay(_ entry: LogEntry, packedFrom leastPacked: Int) -> Range<Int> {
        switch entry {
        case .group(let group):
            pendingWeight += LogIndex.weight(of: group.tallies.count)
            return lay(.group) { LogGroup.write(group, packedFrom: leastPacked, to: &$0) }
        case .changes(let changes):
            return lay(.changes) { $0.put(all: changes) { $1.write(to: &$0) } }
        }
    }

    /// A place that one can go back to.
    struct Mark {
        fileprivate var bytes: Int
        fileprivate var last: UInt64
        fileprivate var weight: Int
    }

    var mark: Mark { Mark(bytes: pending.bytes.count, last: lastPending, weight: pendingWeight) }

    /// Takes back what was laid since.
    func takeBack(to mark: Mark) {
        pending.cut(to: mark.bytes)
        (lastPending, pendingWeight) = (mark.last, mark.weight)
    }

    // MARK: Writing

    /// Writes what was laid. After a fault none of it counts.
    /// - Parameter synced: whether it has to be on the disk, with all before it.
    func write(synced: Bool) throws(DiskFault) {
        defer {
            pending.cut(to: 0)
            pendingWeight = 0
        }
        do throws(DiskFault) {
            let file = try segment.open()
            if synced {
                try endSync()
                try pending.append(to: file, at: end)
            } else {
                try pending.write(to: file, at: end)
            }
        } catch {
            lastPending = last
            throw error
        }
        (end, last) = (next, lastPending)
        if synced { certain = end }
    }

    /// Goes on where the daemon stopped in order, in place of what says so: that must not count once more with what lies behind it from this
    /// life, or stand on the disk where it never got (decision 55).
    /// - Parameter isFounded: whether a foundation lies before it already.
    func resume(isFounded: Bool) throws(DiskFault) {
        if isFounded {
            let file = try segment.open()
            try file.fill(end..<end + LogFrame.size(of: 0))
            try file.sync()
        } else {
            resumed = (end, last)
            lay(.foundation) { _ in }
            try write(synced: true)
        }
    }

    /// The daemon stops in order. Where nothing was written since it went on, the segment becomes what it was: stops and starts take no room.
    func close() throws(DiskFault) {
        if let resumed, end == resumed.end + LogFrame.size(of: 0) {
            (end, certain) = (resumed.end, resumed.end)
            (last, lastPending) = (resumed.last, resumed.last)
        }
        lay(.closed) { _ in }
        try write(synced: true)
    }

    /// Writes what was laid, and then the header: only with it the segment is one.
    func begin(synced: Bool) throws(DiskFault) {
        try write(synced: synced)
        var writer = LogWriter()
        writer.putRest(header.bytes)
        let file = try segment.open()
        try writer.write(to: file, at: 0)
        if synced { try file.sync() } else { certain = 0 }
    }

    /// Sees to it that all that was written is on the disk.
    func sync() throws(DiskFault) {
        try endSync()
        guard certain < end else { return }
        try segment.open().sync()
        certain = end
    }

    /// With so many bytes that are not synced, the sync at the segment's end takes long enough to be noticed: 1 MiB of a segment of 8.
    private var muchUnsynced: Int { segment.file.size / 8 }

    /// Whether it is time for ``syncAhead()``.
    var isSyncDue: Bool {
        end - max(certain, lastBegun) >= muchUnsynced && (try? segment.open().isSyncing) == false
    }

    /// Begins a sync of what was written, and takes note of the one before, which has ended.
    func syncAhead() throws(DiskFault) {
        try endSync()
        if try segment.open().beginSync() { syncing = end }
        lastBegun = end
    }

    /// Waits for the sync that is under way, if one is.
    private func endSync() throws(DiskFault) {
        guard let syncing else { return }
        self.syncing = nil
        try segment.open().endSync()
        certain = max(certain, syncing)
    }

    /// Writes down what the segment holds, if there is room for that: otherwise a start reads it through. Nothing comes behind.
    func seal() throws(DiskFault) -> LogSegmentEntry {
        if summary == 0, next + LogFrame.headerSize + segment.index.weight <= segment.file.size {
            let place = next
            lay(.summary) { segment.index.write(to: &$0) }
            try write(synced: true)
            summary = place
        }
        try sync()
        return LogSegmentEntry(
            number: segment.number, file: segment.file, summary: summary, end: end, events: segment.index.events)
    }
}

extension LogWriter {
    /// Lays a frame.
    /// - Returns: its checksum.
    mutating func frame(
        _ kind: LogFrame.Kind, at place: LogPlace, certain: Int, previous: UInt64, _ body: (inout LogWriter) -> Void
    ) -> UInt64 {
        let start = bytes.count
        putZeros(LogFrame.headerSize)
        body(&self)
        let end = bytes.count
        putZeros(-(end - start) & 7)
        return withBytes { bytes in
            let content = UnsafeRawBufferPointer(rebasing: bytes[(start + LogFrame.headerSize)..<end])
            let frame = LogFrame(kind, content, at: place, certain: certain, previous: previous)
            frame.write(to: bytes, at: start)
            return frame.checksum
        }
    }

    /// Writes what was laid to a file.
    func write(to file: any DiskFile, at offset: Int) throws(DiskFault) {
        guard !bytes.isEmpty else { return }
        try bytes.lend { (bytes) throws(DiskFault) in try file.write(bytes, at: offset) }
    }

    /// The same, with a sync. Nothing behind it counts.
    func append(to file: any DiskFile, at offset: Int) throws(DiskFault) {
        guard !bytes.isEmpty else { return try file.sync() }
        try bytes.lend { (bytes) throws(DiskFault) in try file.append(bytes, at: offset) }
    }
}
