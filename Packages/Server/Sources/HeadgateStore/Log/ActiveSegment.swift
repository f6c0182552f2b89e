import HeadgateCore

/// The segment that is written to. It encodes frames one after the other, and writes several of them at a time.
final class ActiveSegment {
    let segment: LogSegment
    /// The offset of the next frame to write.
    @exclusivity(unchecked) private(set) var end: Int
    /// The number of bytes that are certainly on the disk.
    @exclusivity(unchecked) private(set) var certain: Int
    /// The number of bytes that are on the disk when the present background sync ends; nil if there is none.
    @exclusivity(unchecked) private var syncing: Int?
    /// The offset up to which the last background sync reached, or would have reached.
    @exclusivity(unchecked) private var lastBegun = 0
    private let header: LogHeader
    /// Encrypts the frames; nil if the segment is not encrypted.
    private let cipher: FrameCipher?
    /// The checksum of the last frame.
    @exclusivity(unchecked) private var last: UInt64
    /// The encoded frames that are not written yet, and the checksum of the last of them.
    @exclusivity(unchecked) private var pending = LogWriter()
    @exclusivity(unchecked) private var lastPending: UInt64
    /// The bytes that they will take in the summary.
    @exclusivity(unchecked) private var pendingWeight = 0
    /// The offset of the summary; 0 if there is none.
    @exclusivity(unchecked) private var summary = 0
    /// The offset at which a start continued, and the checksum of the frame before it; nil if this process began the
    /// segment.
    private var resumed: (end: Int, last: UInt64)?

    /// Begins a segment with a snapshot of a state, which is encoded and not yet written.
    init(_ segment: LogSegment, _ header: LogHeader, _ state: LogState) {
        (self.segment, self.header, cipher) = (segment, header, segment.files.cipher(of: header))
        (end, certain) = (LogHeader.size, 0)
        (last, lastPending) = (header.checksum, header.checksum)
        encode(.snapshot) { $0.put(state) }
    }

    /// Continues a sound segment after a frame.
    /// - Parameter summary: the offset of its summary; 0 if there is none yet.
    init(_ segment: LogSegment, _ header: LogHeader, end: Int, last: UInt64, summary: Int) {
        (self.segment, self.header, self.summary) = (segment, header, summary)
        cipher = segment.files.cipher(of: header)
        (self.end, certain, self.last, lastPending) = (end, end, last, last)
    }

    /// Returns the least size in bytes of a segment that begins with a state.
    static func size(for state: LogState) -> Int {
        var writer = LogWriter()
        writer.put(state)
        // The entry of the segment before it, and the summary at the end, are included.
        return LogHeader.size + 2 * LogFrame.headerSize + writer.bytes.count + 2 * FrameCipher.overhead + 1_024
    }

    /// The bytes of a frame without content.
    private var emptyFrame: Int { LogFrame.size(of: cipher == nil ? 0 : FrameCipher.overhead) }

    /// True if a new segment would be encrypted under another key, or not at all.
    var isOutdated: Bool { segment.files.keyring.map { !$0.isCurrent(header.seal) } ?? false }

    // MARK: Encoding

    /// The offset of the next frame to encode.
    var next: Int { end + pending.bytes.count }

    /// Returns true if there is room for the encoded frames, for the summary, and for a reserve.
    func hasRoom(beside reserve: Int = 0) -> Bool {
        let summary = emptyFrame + segment.index.weight + pendingWeight
        return self.summary == 0 && next + summary + reserve <= segment.file.size
    }

    /// Encodes a frame.
    /// - Returns: its range in the segment.
    @discardableResult
    func encode(_ kind: LogFrame.Kind, _ body: (inout LogWriter) -> Void) -> Range<Int> {
        let start = next
        lastPending = pending.frame(
            kind, at: segment.position(start), certain: certain, previous: lastPending, sealedBy: cipher, body)
        return start..<next
    }

    /// Encodes an entry.
    /// - Parameter leastPacked: the size in bytes from which a piece of a group is packed.
    func encode(_ entry: LogEntry, packedFrom leastPacked: Int) -> Range<Int> {
        switch entry {
        case .group(let group):
            pendingWeight += LogIndex.weight(of: group.tallies.count)
            return encode(.group) { LogGroup.write(group, packedFrom: leastPacked, to: &$0) }
        case .changes(let changes):
            return encode(.changes) { $0.put(changes) }
        }
    }

    /// A position to which the encoded frames can be rolled back.
    struct Mark {
        fileprivate var bytes: Int
        fileprivate var last: UInt64
        fileprivate var weight: Int
    }

    var mark: Mark { Mark(bytes: pending.bytes.count, last: lastPending, weight: pendingWeight) }

    /// Drops the frames that were encoded after a mark.
    func rollBack(to mark: Mark) {
        pending.cut(to: mark.bytes)
        (lastPending, pendingWeight) = (mark.last, mark.weight)
    }

    // MARK: Writing

    /// Writes the encoded frames. After a fault none of them counts.
    /// - Parameter synced: true if they, and everything before them, must be on the disk.
    func write(synced: Bool) throws(DiskFault) {
        defer {
            pending.cut(to: 0)
            pendingWeight = 0
        }
        do throws(DiskFault) {
            let file = try segment.open()
            if synced {
                try endSync()
                try pending.bytes.withRawBytes { (bytes) throws(DiskFault) in try file.append(bytes, at: end) }
            } else {
                try file.write(pending.bytes, at: end)
            }
        } catch {
            lastPending = last
            throw error
        }
        (end, last) = (next, lastPending)
        if synced { certain = end }
    }

    /// Continues the segment after an orderly stop, in place of the closing frame. The closing frame must not count
    /// again once this process has written frames after it. It must not stay on the disk if it was never synced
    /// (decision 55).
    func resume() throws(DiskFault) {
        resumed = (end, last)
        encode(.restartMarker) { _ in }
        try write(synced: true)
    }

    /// Writes a restart marker with the highest number that was given.
    func record(given number: SequenceNumber) throws(DiskFault) {
        encode(.restartMarker) { $0.put(number) }
        try write(synced: true)
    }

    /// Closes the segment in order. If nothing was written since the segment was continued, its former end is restored,
    /// so that stops and starts take no room.
    func close() throws(DiskFault) {
        if let resumed, end == resumed.end + emptyFrame {
            (end, certain) = (resumed.end, resumed.end)
            (last, lastPending) = (resumed.last, resumed.last)
        }
        encode(.closed) { _ in }
        try write(synced: true)
    }

    /// Writes the encoded frames, and then the header, which makes the file a segment.
    func begin(synced: Bool) throws(DiskFault) {
        try write(synced: synced)
        let file = try segment.open()
        try file.write(header.bytes, at: 0)
        if synced { try file.sync() } else { certain = 0 }
    }

    /// Waits until everything that was written is on the disk.
    func sync() throws(DiskFault) {
        try endSync()
        guard certain < end else { return }
        try segment.open().sync()
        certain = end
    }

    /// The number of unsynced bytes at which the next sync would take noticeably long: an eighth of the segment, 1 MiB
    /// of 8.
    private var muchUnsynced: Int { segment.file.size / 8 }

    /// True if a background sync is due (``syncAhead()``).
    var isSyncDue: Bool {
        end - max(certain, lastBegun) >= muchUnsynced && (try? segment.open().isSyncing) == false
    }

    /// Begins a background sync of the written frames, and ends the previous one.
    func syncAhead() throws(DiskFault) {
        try endSync()
        if try segment.open().beginSync() { syncing = end }
        lastBegun = end
    }

    /// Waits for the background sync, if there is one.
    private func endSync() throws(DiskFault) {
        guard let syncing else { return }
        self.syncing = nil
        try segment.open().endSync()
        certain = max(certain, syncing)
    }

    /// Ends the segment with a summary, if there is room for it: otherwise a start reads the whole segment. No frame
    /// follows.
    func seal() throws(DiskFault) -> LogSegmentEntry {
        if summary == 0, next + emptyFrame + segment.index.weight <= segment.file.size {
            let position = next
            encode(.summary) { segment.index.write(to: &$0) }
            try write(synced: true)
            summary = position
        }
        try sync()
        return LogSegmentEntry(
            number: segment.number, file: segment.file, summary: summary, end: end, events: segment.index.events)
    }
}

extension LogWriter {
    /// Encodes a frame.
    /// - Returns: its checksum.
    mutating func frame(
        _ kind: LogFrame.Kind, at position: LogPosition, certain: Int, previous: UInt64,
        sealedBy cipher: FrameCipher? = nil, _ body: (inout LogWriter) -> Void
    ) -> UInt64 {
        let start = bytes.count
        putZeros(cipher == nil ? LogFrame.headerSize : LogFrame.headerSize + FrameCipher.prefix)
        body(&self)
        if cipher != nil { putZeros(FrameCipher.tagSize) }
        let end = bytes.count
        putZeros(-(end - start) & 7)
        return withBytes { bytes in
            let content = UnsafeMutableRawBufferPointer(rebasing: bytes[(start + LogFrame.headerSize)..<end])
            cipher?.seal(
                content,
                LogFrame(
                    unfinished: kind, content.count, certain: certain, previous: previous, isSealed: true),
                at: position)
            let frame = LogFrame(
                kind, UnsafeRawBufferPointer(content), at: position, certain: certain, previous: previous,
                isSealed: cipher != nil)
            frame.write(to: bytes, at: start)
            return frame.checksum
        }
    }
}
