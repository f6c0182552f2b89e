import Glibc
import HeadgateCore

/// A scan of some bytes of a segment: it finds frames, and the holes between them (Behaviour Q8).
struct LogScan {
    enum Found: Equatable {
        /// A sound frame and its offset in the segment.
        case frame(LogFrame, at: Int)
        /// No frame, or a damaged one.
        case hole(Range<Int>)
    }

    private let piece: UnsafeRawBufferPointer
    private let start: LogPosition
    private var offset: Int
    /// The checksum of the frame before; nil if it is unknown.
    private var previous: UInt64?
    /// Decrypts the frames; nil if only their checksums are verified.
    private let opener: FrameOpener?

    /// - Parameters:
    ///   - piece: bytes of a segment.
    ///   - start: the position of the first byte.
    ///   - previous: the checksum of the frame before; nil if it is unknown.
    ///   - opener: decrypts the frames; nil if only their checksums are verified.
    init(
        _ piece: UnsafeRawBufferPointer, from start: LogPosition, behind previous: UInt64?, opener: FrameOpener? = nil
    ) {
        (self.piece, self.start, self.previous, self.opener) = (piece, start, previous, opener)
        offset = 0
    }

    /// Returns the next frame or hole; nil at the end.
    mutating func next() -> Found? {
        guard offset < piece.count else { return nil }
        if let frame = frame(at: offset) {
            defer { offset += frame.size }
            guard isSound(frame), previous == nil || previous == frame.previous else {
                // The next frame may name the damaged one as its predecessor.
                previous = isSound(frame) ? nil : frame.checksum
                return .hole(position(offset)..<position(offset + frame.size))
            }
            previous = frame.checksum
            return .frame(frame, at: position(offset))
        }
        let begin = offset
        repeat { offset = nextMark(from: offset + 8) } while offset < piece.count && frame(at: offset) == nil
        previous = nil
        return .hole(position(begin)..<position(offset))
    }

    /// Returns the next offset at which a frame may begin, or the end. Most of a segment may be zeros, which the C
    /// library skips fast.
    private func nextMark(from offset: Int) -> Int {
        guard let base = piece.baseAddress else { return piece.count }
        var offset = offset
        while offset < piece.count, let found = memchr(base + offset, LogFormat.firstByte, piece.count - offset) {
            let position = UnsafeRawPointer(found) - base
            if position.isMultiple(of: 8) { return position }
            offset = position + 1
        }
        return piece.count
    }

    /// Returns the content of a sound frame, which is valid until the next call or the next frame.
    func content(of frame: LogFrame, at position: Int) -> UnsafeRawBufferPointer {
        opened(frame, at: position) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Returns the content of a frame whose checksums are right; nil if it cannot be decrypted.
    private func opened(_ frame: LogFrame, at position: Int) -> UnsafeRawBufferPointer? {
        let stored = stored(frame, at: position)
        guard let opener else { return stored }
        return opener.content(of: frame, stored, at: LogPosition(segment: start.segment, offset: position))
    }

    private func stored(_ frame: LogFrame, at position: Int) -> UnsafeRawBufferPointer {
        let begin = position - start.offset + LogFrame.headerSize
        return UnsafeRawBufferPointer(rebasing: piece[begin..<begin + frame.length])
    }

    /// Returns true if there is a sound frame header at an offset, whatever follows it.
    func hasHeader(at position: Int) -> Bool { frame(at: position - start.offset) != nil }

    private func position(_ offset: Int) -> Int { start.offset + offset }

    /// Returns the frame that begins at an offset and ends within the bytes.
    private func frame(at offset: Int) -> LogFrame? {
        let logPosition = LogPosition(segment: start.segment, offset: position(offset))
        let frame = LogFrame(UnsafeRawBufferPointer(rebasing: piece[offset...]), at: logPosition)
        return frame.flatMap { offset + $0.size <= piece.count ? $0 : nil }
    }

    private func isSound(_ frame: LogFrame) -> Bool {
        let position = position(offset)
        return frame.isSound(stored(frame, at: position)) && opened(frame, at: position) != nil
    }
}

/// The frames of a segment, its end, and its damaged parts.
///
/// A power failure can lose any unsynced part, so that nothing counts after the first hole. But if a later frame says
/// that the hole's bytes had been on the disk, they are damaged, and the frames after them count. The same is true in a
/// segment whose end is in the header of the next one.
struct SegmentReport {
    private(set) var frames: [(frame: LogFrame, offset: Int)] = []
    private(set) var damaged: [Range<Int>] = []
    /// The end of the last frame that counts.
    private(set) var end: Int
    /// The bytes that were certainly on the disk.
    private(set) var certain: Int
    /// The bytes after the end that were written once; nil if there are none. They belong to an interrupted write or to
    /// a complete one that is damaged. The two cannot be distinguished.
    private(set) var torn: Range<Int>?

    /// - Parameters:
    ///   - start: the offset of the first frame.
    ///   - limit: the offset at which the frames end at the latest.
    ///   - known: the bytes that were certainly on the disk, whatever the frames say.
    init(_ scan: LogScan, from start: Int, through limit: Int = .max, known: Int = 0) {
        var (scan, found) = (scan, [LogScan.Found]())
        (end, certain) = (start, max(start, min(known, limit)))
        var marked = start
        while let next = scan.next() {
            if case .frame(let frame, let offset) = next {
                guard offset + frame.size <= limit else { break }
                certain = max(certain, frame.certain)
                if frame.kind == .restartMarker { marked = offset }
            }
            found.append(next)
        }
        let sure = max(certain, marked)
        for (index, next) in found.enumerated() {
            switch next {
            case .frame(let frame, let offset):
                frames.append((frame, offset))
                end = offset + frame.size
            case .hole(let range):
                guard range.lowerBound < sure else {
                    certain = min(certain, end)
                    torn = SegmentReport.torn(range, scan, behind: found[(index + 1)...])
                    return
                }
                damaged.append(range.lowerBound..<min(range.upperBound, sure))
            }
        }
        certain = min(certain, end)
    }

    /// Returns the part of a hole, and of the frames after it, that was written once.
    private static func torn(_ hole: Range<Int>, _ scan: LogScan, behind rest: ArraySlice<LogScan.Found>) -> Range<Int>?
    {
        for case .frame(let frame, let offset) in rest.reversed() { return hole.lowerBound..<offset + frame.size }
        return scan.hasHeader(at: hole.lowerBound) ? hole : nil
    }
}
