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

extension LogWriter {
    mutating func put(_ span: LogSpan) {
        put(48) { room in
            LittleEndian.store(span.first, in: room, at: 0)
            LittleEndian.store(span.last, in: room, at: 8)
            LittleEndian.store(span.ages.firstReceipt, in: room, at: 16)
            LittleEndian.store(span.ages.lastReceipt, in: room, at: 24)
            LittleEndian.store(span.ages.firstExpiry, in: room, at: 32)
            LittleEndian.store(span.ages.lastExpiry, in: room, at: 40)
        }
        put(UInt32(TallyBlob.size(of: span.tallies.count)))
        put(span.tallies)
    }
}

extension LogReader {
    mutating func takeSpan() throws(Unsound) -> LogSpan {
        let (first, last) = (try takeSequenceNumber(), try takeSequenceNumber())
        let ages = GroupAges(
            firstReceipt: try take(), lastReceipt: try take(), firstExpiry: try take(), lastExpiry: try take())
        guard first <= last, let tallies = TallyBlob.decode(try takePiece()) else { throw Unsound() }
        return LogSpan(
            first: first, last: last, tallies: tallies, ages: ages)
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
            span = try reader.takeSpan()
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

    init(_ reader: inout LogReader) throws(LogReader.Unsound) {
        newRoutes = try reader.takeRoutes()
        initialState.dispatchers = try reader.takeAll { (reader) throws(LogReader.Unsound) in
            try reader.takeDispatcher()
        }
        initialState.kept = try reader.takeKept()
        recentIDs = try reader.takeAll { (reader) throws(LogReader.Unsound) in try reader.takeIDs() }.first
        forgottenIDs = try reader.takeSequenceNumber()
        requeued = try reader.takeNumbers()
    }
}

extension AppendGroup {
    /// True if changes come with the events. Most groups have none.
    var hasExtras: Bool { !LogExtras(self).isEmpty }
}

extension LogWriter {
    mutating func put(_ extras: LogExtras) {
        put(extras.newRoutes)
        put(all: extras.initialState.dispatchers) { $0.put($1) }
        put(extras.initialState.kept)
        put(all: extras.recentIDs.map { [$0] } ?? []) { $0.put($1) }
        put(extras.forgottenIDs)
        put(all: extras.requeued) { $0.put($1) }
    }

    mutating func put(_ routes: [RouteNumber: [DispatcherNumber]]) {
        put(all: routes.sorted { $0.key < $1.key }) { writer, route in
            writer.put(route.key)
            writer.put(all: route.value) { $0.put($1) }
        }
    }

    mutating func put(_ kept: [String: [UInt8]]) {
        put(all: kept.sorted { $0.key < $1.key }) { writer, pair in
            writer.put(pair.key)
            writer.put(pair.value)
        }
    }

    mutating func put(_ dispatcher: StoredDispatcher) {
        put(dispatcher.number)
        put(dispatcher.id)
        put(dispatcher.settled)
        put(optional: dispatcher.orphanedSince)
    }

    mutating func put(_ settled: Settled) {
        put(settled.position)
        put(RangeBlob.encode(settled))
    }

    mutating func put(_ ids: RecentIDs) {
        put(ids.lastSequenceNumber)
        put(ids.receivedStamp)
        put(UInt32(clamping: ids.count))
        put(UInt8(ids.form.rawValue))
        put(ids.bytes)
    }
}

extension LogReader {
    mutating func takeRoutes() throws(Unsound) -> [RouteNumber: [DispatcherNumber]] {
        let routes = try takeAll { (reader) throws(Unsound) in
            let number = try reader.take(RouteNumber.self)
            return (number, try reader.takeNumbers() as [DispatcherNumber])
        }
        return Dictionary(routes) { $1 }
    }

    mutating func takeKept() throws(Unsound) -> [String: [UInt8]] {
        let kept = try takeAll { (reader) throws(Unsound) in
            let name = try reader.takeText()
            return (name, try reader.takeBytes())
        }
        return Dictionary(kept) { $1 }
    }

    mutating func takeDispatcher() throws(Unsound) -> StoredDispatcher {
        StoredDispatcher(
            number: try take(), id: try takeText(), settled: try takeSettled(), orphanedSince: try takeOptional())
    }

    mutating func takeSettled() throws(Unsound) -> Settled {
        let position = try takeSequenceNumber()
        return RangeBlob.decode(try takePiece(), behind: position, through: LogFormat.mostEvents)
    }

    mutating func takeIDs() throws(Unsound) -> RecentIDs {
        let (last, stamp) = (try takeSequenceNumber(), try take(Int64.self))
        let (count, form) = (Int(try take(UInt32.self)), RecentIDs.Form(rawValue: Int64(try take(UInt8.self))))
        guard let form else { throw Unsound() }
        return RecentIDs(
            lastSequenceNumber: last, receivedStamp: stamp, count: count, form: form, bytes: try takeBytes())
    }
}
