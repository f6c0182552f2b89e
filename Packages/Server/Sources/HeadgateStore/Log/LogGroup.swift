import HeadgateCore
import HeadgateData

/// The description of the events of a frame, so that they need not be read one by one.
struct LogSpan: Equatable {
    var first: SequenceNumber
    var last: SequenceNumber
    /// The number and size of the events of each route.
    var tallies: RouteTallies
    var ages: GroupAges

    /// The number and size of all events.
    var tally: Tally { tallies.total }

    /// Adds a later span.
    mutating func add(_ next: LogSpan) {
        first = min(first, next.first)
        last = max(last, next.last)
        tallies += next.tallies
        ages.add(next.ages)
    }
}

extension LogSpan: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(48) { room in
            LittleEndian.store(first, in: room, at: 0)
            LittleEndian.store(last, in: room, at: 8)
            LittleEndian.store(ages.firstReceipt, in: room, at: 16)
            LittleEndian.store(ages.lastReceipt, in: room, at: 24)
            LittleEndian.store(ages.firstExpiry, in: room, at: 32)
            LittleEndian.store(ages.lastExpiry, in: room, at: 40)
        }
        writer.put(tallies)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        (first, last) = (try reader.takeSequenceNumber(), try reader.takeSequenceNumber())
        guard first <= last else { throw LogReader.Unsound() }
        ages = GroupAges(
            firstReceipt: try reader.take(), lastReceipt: try reader.take(), firstExpiry: try reader.take(),
            lastExpiry: try reader.take())
        tallies = try reader.take()
    }
}

/// A committed group in a frame: the span of its events, the changes that came with them, and their records.
enum LogGroup {
    /// - Parameter leastPacked: the bytes from which on a piece is packed.
    static func write(_ group: AppendGroup, packedFrom leastPacked: Int, to writer: inout LogWriter) {
        write(group.chunk.bytes, span(of: group), LogExtras(group).bytes, packedFrom: leastPacked, to: &writer)
    }

    /// - Parameter extras: the changes that came with the events; empty for a copy.
    static func write(
        _ records: [UInt8], _ span: LogSpan, _ extras: [UInt8] = LogExtras.nothing,
        packedFrom leastPacked: Int, to writer: inout LogWriter
    ) {
        writer.put(span)
        // Packing pays where events resemble each other. A lone event is not packed, however large it is.
        let leastPacked = span.first == span.last ? .max : leastPacked
        writer.put(extras, packedFrom: leastPacked)
        writer.put(records, packedFrom: leastPacked)
    }

    static func span(of group: AppendGroup) -> LogSpan {
        LogSpan(
            first: group.chunk.firstSequenceNumber, last: group.chunk.lastSequenceNumber, tallies: group.tallies,
            ages: group.ages)
    }

    /// The parts of a frame with a group, without copies.
    struct Pieces {
        var span: LogSpan
        var extras: LogPiece
        var records: LogPiece

        /// - Parameter kind: the frame's kind. The result is nil if frames of this kind have no events.
        init?(_ bytes: UnsafeRawBufferPointer, _ kind: LogFrame.Kind) throws(LogReader.Unsound) {
            guard kind == .group else { return nil }
            var reader = LogReader(bytes)
            span = try reader.take()
            extras = try reader.takePackedPiece()
            records = try reader.takePackedPiece()
        }

        /// The events; nil if they are not sound.
        var chunk: Chunk? {
            var bytes: [UInt8] = []
            return records.append(to: &bytes) ? Chunk(bytes: bytes, lastSequenceNumber: span.last) : nil
        }
    }
}

/// The changes that come with the events of a group.
struct LogExtras {
    var newRoutes: [RouteNumber: [DispatcherNumber]] = [:]
    var initialState = InitialState()
    var recentIDs: RecentIDs?
    var forgottenIDs: SequenceNumber = 0
    var requeued: [DeadLetterNumber] = []

    /// No changes.
    init() {}

    /// The encoded changes.
    var bytes: [UInt8] { isEmpty ? LogExtras.nothing : encoded }

    /// The encoding of no changes, which most groups have. It is made once.
    static let nothing = LogExtras().encoded

    var isEmpty: Bool {
        newRoutes.isEmpty && initialState.isEmpty && recentIDs == nil && forgottenIDs == 0 && requeued.isEmpty
    }

    private var encoded: [UInt8] {
        var writer = LogWriter()
        writer.put(self)
        return writer.bytes
    }

    init(_ group: AppendGroup) {
        (newRoutes, initialState, recentIDs) = (group.newRoutes, group.initialState, group.recentIDs)
        (forgottenIDs, requeued) = (group.forgottenIDs, group.requeued)
    }
}

extension AppendGroup {
    /// True if changes come with the events. Most groups have none.
    var hasExtras: Bool { !LogExtras(self).isEmpty }
}

extension LogExtras: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(newRoutes)
        writer.put(initialState.dispatchers)
        writer.put(initialState.kept)
        writer.put(ifAny: recentIDs)
        writer.put(forgottenIDs)
        writer.put(requeued)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        newRoutes = try reader.take()
        (initialState.dispatchers, initialState.kept) = (try reader.take(), try reader.take())
        (recentIDs, forgottenIDs) = (try reader.takeIfAny(), try reader.takeSequenceNumber())
        requeued = try reader.take()
    }
}

extension StoredDispatcher: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(number)
        writer.put(id)
        writer.put(settled)
        writer.put(optional: orphanedSince)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        self.init(
            number: try reader.take(), id: try reader.take(), settled: try reader.take(),
            orphanedSince: try reader.takeOptional())
    }
}

extension RecentIDs: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(lastSequenceNumber)
        writer.put(receivedStamp)
        writer.put(UInt32(clamping: count))
        writer.put(UInt8(form.rawValue))
        writer.put(bytes)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        let (last, stamp) = (try reader.takeSequenceNumber(), try reader.take(Int64.self))
        let (count, form) = (Int(try reader.take(UInt32.self)), Form(rawValue: Int64(try reader.take(UInt8.self))))
        guard let form else { throw LogReader.Unsound() }
        self.init(
            lastSequenceNumber: last, receivedStamp: stamp, count: count, form: form, bytes: try reader.takeBytes())
    }
}
