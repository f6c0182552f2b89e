import HeadgateCore

/// A file of the log whose frames are encoded one after the other, outside the chain of segments: a copy of segments, a
/// part of a backup, or a file of ids. The file is used only once a frame in the chain refers to it.
struct SegmentDraft {
    let header: LogHeader
    /// The offset of the next frame.
    private(set) var end = LogHeader.size
    private(set) var index: LogIndex
    /// The positions of the dead letters that were encoded.
    private(set) var deadLetters: [DeadLetterNumber: DeadLetterPosition] = [:]
    /// The checksum of the last frame.
    private var last: UInt64
    /// Encrypts the frames; nil if the file is not encrypted.
    private let cipher: FrameCipher?

    /// An encoded frame and its offset in the file.
    struct Frame {
        var offset: Int
        var bytes: [UInt8]
    }

    /// - Parameters:
    ///   - cipher: encrypts the frames; nil if the file is not encrypted.
    ///   - blockSize: the bytes of a block in the index.
    init(_ header: LogHeader, sealedBy cipher: FrameCipher?, blockSize: Int = 0) {
        (self.header, self.cipher, last) = (header, cipher, header.checksum)
        index = LogIndex(blockSize: blockSize)
    }

    /// Encodes a frame.
    /// - Parameter certain: the bytes that are on the disk before the frame.
    mutating func encode(
        _ kind: LogFrame.Kind, certain: Int = 0, _ body: (inout LogWriter) -> Void
    ) -> Frame {
        var writer = LogWriter()
        let position = LogPosition(segment: header.number, offset: end)
        last = writer.frame(kind, at: position, certain: certain, previous: last, sealedBy: cipher, body)
        end += writer.bytes.count
        return Frame(offset: position.offset, bytes: writer.bytes)
    }

    /// Encodes the needed events of a block.
    /// - Parameter leastPacked: the bytes from which on they are packed.
    mutating func encode(_ events: NeededEvents, packedFrom leastPacked: Int) -> Frame {
        let frame = encode(.group) { LogGroup.write(events.records, events.span, packedFrom: leastPacked, to: &$0) }
        index.add(events.span, at: frame.offset..<end)
        return frame
    }

    /// Encodes dead letters.
    mutating func encode(_ stored: [StoredDeadLetter]) -> Frame {
        let frame = encode(.changes) { $0.put(stored.map { LogChange.requested(.deadLetter($0.deadLetter)) }) }
        let position = LogPosition(segment: header.number, offset: frame.offset)
        for (index, deadLetter) in stored.enumerated() {
            deadLetters[deadLetter.number] = DeadLetterPosition(frame: position, index: index)
        }
        return frame
    }

    /// Encodes the summary. No frame follows.
    mutating func encodeSummary() -> Frame {
        encode(.summary) { [index] in index.write(to: &$0) }
    }

    /// Returns the entry of the segment, which ends with its summary.
    /// - Parameter number: the number of its file.
    func entry(file number: UInt32, summary: Int) -> LogSegmentEntry {
        LogSegmentEntry(
            number: header.number, file: LogFile(number: number, size: end), summary: summary, end: end,
            events: index.events)
    }
}

/// The events of a block that have to be kept.
struct NeededEvents {
    /// The records, one after the other.
    var records: [UInt8]
    var span: LogSpan
}
