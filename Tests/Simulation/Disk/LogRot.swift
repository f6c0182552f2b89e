import HeadgateCore

@testable import HeadgateServer

/// Where in a file of the log something may rot of which it is known what that costs.
struct LogRot {
    struct Frame {
        /// What it holds, in the file.
        let range: Range<Int>
        let events: [SequenceNumber]
        /// Whether nothing lies behind it.
        let isLast: Bool
    }

    /// The frames of events with which nothing else is lost, and no other frame.
    private(set) var frames: [Frame] = []

    /// - Parameters:
    ///   - bytes: those of the file.
    ///   - inLife: whether the power may still take what is not synced: only groups are, each before it is acknowledged.
    init(_ bytes: [UInt8], inLife: Bool) {
        guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read), header.use != .ids else { return }
        bytes[LogHeader.size...].withUnsafeBytes { bytes in
            let start = LogPlace(segment: header.number, offset: LogHeader.size)
            var scan = LogScan(bytes, from: start, behind: header.checksum)
            var all: [(frame: LogFrame, place: Int, events: [SequenceNumber])] = []
            while let found = scan.next() {
                guard case .frame(let frame, let place) = found else { continue }
                all.append((frame, place, LogRot.events(of: frame, scan.content(of: frame, at: place))))
            }
            let telling = all.filter { !inLife || $0.frame.kind == .group }
            let sure = header.use == .copy ? Int.max : telling.map(\.frame.certain).max() ?? 0
            frames = all.filter { !$0.events.isEmpty && ($0.place < sure || $0.place == all.last?.place) }.map {
                found in
                let begin = found.place + LogFrame.headerSize
                return Frame(
                    range: begin..<begin + found.frame.length, events: found.events, isLast: found.place >= sure)
            }
        }
    }

    /// The events of a group that brings nothing else of which others need to know; none for any other frame.
    private static func events(of frame: LogFrame, _ content: UnsafeRawBufferPointer) -> [SequenceNumber] {
        guard frame.kind == .group, let pieces = try? LogGroup.Pieces(content),
            let extras = pieces.extras.isEmpty ? LogExtras() : try? LogExtras(pieces.extras),
            extras.newRoutes.isEmpty, extras.groundwork.dispatchers.isEmpty, extras.groundwork.kept.isEmpty,
            extras.requeued.isEmpty
        else { return [] }
        return Chunk(bytes: Array(pieces.records), lastSequenceNumber: pieces.stretch.last).map(\.sequenceNumber)
    }
}
