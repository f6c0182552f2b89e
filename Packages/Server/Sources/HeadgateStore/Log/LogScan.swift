import Glibc
import HeadgateCore

/// Goes over the frames that lie in a piece of a segment, and over what is none (Behaviour Q8).
struct LogScan {
    enum Found: Equatable {
        /// A sound frame, at a place of the segment; its bytes lie in the piece.
        case frame(LogFrame, at: Int)
        /// No frame, or a damaged one.
        case hole(Range<Int>)
    }

    private let piece: UnsafeRawBufferPointer
    private let start: LogPlace
    private var offset: Int
    /// The checksum of the frame before; nil where it is not known.
    private var previous: UInt64?

    /// - Parameters:
    ///   - piece: bytes of a segment.
    ///   - start: where in the segment they begin.
    ///   - previous: the checksum of the frame before; nil where it is not known.
    init(_ piece: UnsafeRawBufferPointer, from start: LogPlace, behind previous: UInt64?) {
        (self.piece, self.start, self.previous) = (piece, start, previous)
        offset = 0
    }

    /// What comes next; nil at the end.
    mutating func next() -> Found? {
        guard offset < piece.count else { return nil }
        if let frame = frame(at: offset) {
            defer { offset += frame.size }
            guard isSound(frame), previous == nil || previous == frame.previous else {
                // The next one may follow what this one should have been.
                previous = isSound(frame) ? nil : frame.checksum
                return .hole(place(offset)..<place(offset + frame.size))
            }
            previous = frame.checksum
            return .frame(frame, at: place(offset))
        }
        let begin = offset
        repeat { offset = nextMark(from: offset + 8) } while offset < piece.count && frame(at: offset) == nil
        previous = nil
        return .hole(place(begin)..<place(offset))
    }

    /// Where a frame may begin next, or the end. Most of a segment may be zeros, which the C library passes over a line of memory at a time.
    private func nextMark(from offset: Int) -> Int {
        guard let base = piece.baseAddress else { return piece.count }
        var offset = offset
        while offset < piece.count, let found = memchr(base + offset, LogFormat.firstByte, piece.count - offset) {
            let place = UnsafeRawPointer(found) - base
            if place.isMultiple(of: 8) { return place }
            offset = place + 1
        }
        return piece.count
    }

    /// The bytes that a frame holds.
    func content(of frame: LogFrame, at place: Int) -> UnsafeRawBufferPointer {
        let begin = place - start.offset + LogFrame.headerSize
        return UnsafeRawBufferPointer(rebasing: piece[begin..<begin + frame.length])
    }

    /// Whether the header of a frame is sound that lies at a place, whatever lies behind it.
    func hasHeader(at place: Int) -> Bool { frame(at: place - start.offset) != nil }

    private func place(_ offset: Int) -> Int { start.offset + offset }

    /// A frame that begins at some offset and ends within the piece.
    private func frame(at offset: Int) -> LogFrame? {
        let place = LogPlace(segment: start.segment, offset: place(offset))
        let frame = LogFrame(UnsafeRawBufferPointer(rebasing: piece[offset...]), at: place)
        return frame.flatMap { offset + $0.size <= piece.count ? $0 : nil }
    }

    private func isSound(_ frame: LogFrame) -> Bool {
        frame.isSound(content(of: frame, at: place(offset)))
    }
}

/// What the frames of a segment say together: how far it goes, and what of it is damaged.
///
/// What was not synced when the power went is lost in any part and order: behind the first hole nothing counts. But where a later
/// frame says that the place of the hole had been on the disk beyond doubt, that is damage, and what lies behind counts. So it is
/// in a segment of which another one says where it ends.
struct LogSurvey {
    private(set) var frames: [(frame: LogFrame, offset: Int)] = []
    private(set) var damaged: [Range<Int>] = []
    /// Where the last frame that counts ends.
    private(set) var end: Int
    /// So much was on the disk beyond doubt.
    private(set) var certain: Int
    /// What lies behind the end and was written once, where there is such: a write that was cut off, or one that was whole and is damaged.
    /// Nobody can tell.
    private(set) var torn: Range<Int>?

    /// - Parameters:
    ///   - start: where the frames begin.
    ///   - limit: where they end at the latest.
    ///   - known: so much was on the disk beyond doubt, whatever the frames say.
    init(_ scan: LogScan, from start: Int, through limit: Int = .max, known: Int = 0) {
        var (scan, found) = (scan, [LogScan.Found]())
        (end, certain) = (start, max(start, min(known, limit)))
        var founded = start
        while let next = scan.next() {
            if case .frame(let frame, let offset) = next {
                guard offset + frame.size <= limit else { break }
                certain = max(certain, frame.certain)
                if frame.kind == .foundation { founded = offset }
            }
            found.append(next)
        }
        let sure = max(certain, founded)
        for (index, next) in found.enumerated() {
            switch next {
            case .frame(let frame, let offset):
                frames.append((frame, offset))
                end = offset + frame.size
            case .hole(let range):
                guard range.lowerBound < sure else {
                    certain = min(certain, end)
                    torn = LogSurvey.torn(range, scan, behind: found[(index + 1)...])
                    return
                }
                damaged.append(range.lowerBound..<min(range.upperBound, sure))
            }
        }
        certain = min(certain, end)
    }

    /// What of a hole, and of what lies behind it, was written once.
    private static func torn(_ hole: Range<Int>, _ scan: LogScan, behind rest: ArraySlice<LogScan.Found>) -> Range<Int>?
    {
        for case .frame(let frame, let offset) in rest.reversed() { return hole.lowerBound..<offset + frame.size }
        return scan.hasHeader(at: hole.lowerBound) ? hole : nil
    }
}
