import HeadgateCore

@testable import HeadgateServer
@testable import HeadgateStore

/// Where in a file of the log something may rot of which it is known what that costs.
struct LogRot {
    struct Frame {
        /// What it holds, in the file.
        let range: Range<Int>
        let events: [SequenceNumber]
        /// Whether nothing lies behind it.
        let isLast: Bool
        /// The number of its segment.
        let segment: UInt64
    }

    /// The frames of events with which nothing else is lost, and no other frame.
    private(set) var frames: [Frame] = []
    /// Events behind a hole of which no frame says that it was on the disk: a start takes it for the end of what was written.
    private(set) var cutOff: [SequenceNumber] = []

    /// - Parameters:
    ///   - bytes: those of the file.
    ///   - inLife: whether the power may still take what is not synced: only groups are, each before it is acknowledged.
    init(_ bytes: [UInt8], inLife: Bool) {
        guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read), header.use != .ids else { return }
        bytes[LogHeader.size...].withUnsafeBytes { bytes in
            let start = LogPlace(segment: header.number, offset: LogHeader.size)
            var scan = LogScan(bytes, from: start, behind: header.checksum)
            var all: [(frame: LogFrame, place: Int, pieces: LogGroup.Pieces?)] = []
            var holes: [Int] = []
            while let found = scan.next() {
                switch found {
                case .hole(let range): holes.append(range.lowerBound)
                case .frame(let frame, let place):
                    let content = scan.content(of: frame, at: place)
                    all.append((frame, place, try? LogGroup.Pieces(content, frame.kind)))
                }
            }
            let telling = all.filter { !inLife || $0.frame.kind.holdsEvents }
            let sure = header.use == .copy ? Int.max : telling.map(\.frame.certain).max() ?? 0
            frames = all.compactMap { found in
                guard let pieces = found.pieces, pieces.isAlone, found.place < sure || found.place == all.last?.place
                else { return nil }
                let begin = found.place + LogFrame.headerSize
                return Frame(
                    range: begin..<begin + found.frame.length, events: pieces.events, isLast: found.place >= sure,
                    segment: header.number)
            }
            guard let end = holes.first(where: { $0 >= sure }) else { return }
            cutOff = all.filter { $0.place > end }.compactMap(\.pieces).flatMap(\.events)
        }
    }
}

extension LogGroup.Pieces {
    fileprivate var events: [SequenceNumber] {
        chunk?.map(\.sequenceNumber) ?? []
    }

    /// Whether it brings events, and nothing else of which others need to know.
    fileprivate var isAlone: Bool {
        guard let extras = try? extras.read({ (reader) throws(LogReader.Unsound) in try LogExtras(&reader) })
        else { return false }
        return extras.newRoutes.isEmpty && extras.groundwork.dispatchers.isEmpty && extras.groundwork.kept.isEmpty
            && extras.requeued.isEmpty
    }
}
