import HeadgateCore

@testable import HeadgateServer
@testable import HeadgateStore

/// The frames of a log file that may be damaged with a known loss.
struct LogCorruption {
    struct Frame {
        /// The range of the frame's content in the file.
        let range: Range<Int>
        let events: [SequenceNumber]
        /// True if nothing follows the frame.
        let isLast: Bool
        /// The number of the segment.
        let segment: UInt64
    }

    /// Frames with events whose loss affects nothing else.
    private(set) var frames: [Frame] = []
    /// Events after a damaged frame that no later frame confirms as written. A start takes the damaged frame for the
    /// end of the log.
    private(set) var cutOff: [SequenceNumber] = []
    /// True if there are such frames, with or without events.
    private(set) var cutsOff = false

    /// - Parameters:
    ///   - bytes: The content of the file.
    ///   - inLife: True if a power failure may still remove unsynced data. Only groups are synced, each before it is
    ///     acknowledged.
    init(_ bytes: [UInt8], inLife: Bool) {
        guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read), header.use != .ids else { return }
        bytes[LogHeader.size...].withUnsafeBytes { bytes in
            let start = LogPosition(segment: header.number, offset: LogHeader.size)
            var scan = LogScan(bytes, from: start, behind: header.checksum)
            var all: [(frame: LogFrame, position: Int, pieces: LogGroup.Pieces?)] = []
            var holes: [Int] = []
            while let found = scan.next() {
                switch found {
                case .hole(let range): holes.append(range.lowerBound)
                case .frame(let frame, let position):
                    let content = scan.content(of: frame, at: position)
                    all.append((frame, position, try? LogGroup.Pieces(content, frame.kind)))
                }
            }
            let relevant = all.filter { !inLife || $0.frame.kind == .group }
            let sure = header.use == .copy ? Int.max : relevant.map(\.frame.certain).max() ?? 0
            frames = all.compactMap { found in
                guard let pieces = found.pieces, pieces.isAlone,
                    found.position < sure || found.position == all.last?.position
                else { return nil }
                let begin = found.position + LogFrame.headerSize
                return Frame(
                    range: begin..<begin + found.frame.length, events: pieces.events, isLast: found.position >= sure,
                    segment: header.number)
            }
            guard let end = holes.first(where: { $0 >= sure }) else { return }
            let behind = all.filter { $0.position > end }
            (cutOff, cutsOff) = (behind.compactMap(\.pieces).flatMap(\.events), !behind.isEmpty)
        }
    }
}

extension LogGroup.Pieces {
    fileprivate var events: [SequenceNumber] {
        chunk?.map(\.sequenceNumber) ?? []
    }

    /// True if the group contains only events, and nothing that other groups depend on.
    fileprivate var isAlone: Bool {
        guard let extras: LogExtras = try? extras.read() else { return false }
        return extras.newRoutes.isEmpty && extras.initialState.isEmpty && extras.requeued.isEmpty
            && extras.forgottenIDs == 0
    }
}
