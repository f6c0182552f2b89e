import HeadgateCore
import HeadgateData

@testable import HeadgateServer
@testable import HeadgateStore

/// Bytes that rot where they lie, synced or not (Behaviour Q8), and the account of what may be lost by that.
///
/// Where a digit within an event's data rots, the row says so with its checksum: the events of that group are lost where they
/// were still needed, and nothing else is. Where any bit anywhere rots, SQLite may take it for what was written, and all that is promised
/// is that the daemon starts, goes on, and gives nobody an event that is not what was tracked.
final class Rot {
    enum Kind: CaseIterable {
        /// Of a database.
        case records, anything
        /// Of a log: only of what events lie in, and anything.
        case frames, log

        /// What rots of it.
        var store: StoreKind { self == .frames || self == .log ? .log : .sqlite }
    }

    let kind: Kind
    private let record: Record
    /// How many times something has rotted.
    private(set) var strikes = 0
    /// The groups that turned out to be damaged, by their last events.
    private var groups: Set<SequenceNumber> = []
    /// The events of each group, with their routes.
    private var contents: [SequenceNumber: [(number: SequenceNumber, route: RouteNumber)]] = [:]
    /// What each event's data is. Where the power goes behind rot, what had a number before may be there again.
    private var values: [SequenceNumber: [Content]] = [:]
    /// Events that may be lost.
    private(set) var damaged: Set<SequenceNumber> = []
    /// Those of them that a start may take for a write that was cut off: nothing says that they were on the disk.
    private(set) var doubtful: Set<SequenceNumber> = []
    /// Whether somebody still has to get an event.
    var isNeeded: (SequenceNumber) -> Bool = { _ in false }
    private(set) var gap = NumberGap()
    /// How many events the start of this life counted for dispatchers that are not there any more.
    private var missing = 0

    init(_ kind: Kind, _ record: Record) {
        (self.kind, self.record) = (kind, record)
    }

    /// Whether nothing is certain any more but what always holds.
    var isWild: Bool { (kind == .anything || kind == .log) && strikes > 0 }

    // MARK: Rotting

    /// Something rots.
    func strike(_ platter: Platter, inLife: Bool = false) {
        switch kind {
        case .records: strikeRecord(platter)
        case .frames: strikeFrame(platter, inLife)
        case .anything, .log:
            let paths = platter.names.keys.filter { $0.contains(kind == .log ? "/log/" : "events.db") }.sorted()
            guard !paths.isEmpty, let node = platter.names[record.pick(paths)], !node.bytes.isEmpty else { return }
            strikes += 1
            record.count(.anythingRotted)
            record.note("bits rot")
            // What a file begins with says the most about it.
            let most = record.oneIn(3) ? min(100, node.bytes.count) : node.bytes.count
            for _ in 0..<record.number(1...6) {
                node.rot(at: record.number(0...most - 1), bit: UInt8(1 << record.number(0...7)))
            }
        }
    }

    /// A digit of a number in some event's data becomes another.
    private func strikeRecord(_ platter: Platter) {
        guard let node = platter.names[OtherVersions.path] else { return }
        let places = Rot.places(of: Array(#"{"n":"#.utf8), in: node.bytes)
        guard !places.isEmpty else { return }
        strikes += 1
        record.count(.recordRotted)
        record.note("a digit rots")
        node.rot(at: aimed(at: places, in: node.bytes), bit: 1)
    }

    /// Any of some places of data, or one of an event that is needed.
    private func aimed(at places: [Int], in bytes: [UInt8]) -> Int {
        let needed = values.keys.filter(isNeeded).sorted()
        guard !needed.isEmpty, record.oneIn(2) else { return record.pick(places) }
        let heads = Rot.places(of: Array(#""seq":\#(record.pick(needed)),"#.utf8), in: bytes)
        // Its data lies behind its head.
        let behind = heads.compactMap { head in places.first { $0 > head } }
        return record.pick(behind.isEmpty ? places : behind)
    }

    /// A byte of a frame of events becomes another: one behind which others say that it was on the disk, or the last of its file.
    ///
    /// What lies behind the last one later is lost with it as long as it is not synced: in a life that goes on it is left alone.
    private func strikeFrame(_ platter: Platter, _ inLife: Bool) {
        let frames = platter.names.keys.sorted().filter { $0.hasSuffix(".log") }.flatMap { path in
            platter.names[path].map { node in LogRot(node.bytes, inLife: inLife).frames.map { (node: node, frame: $0) }
            } ?? []
        }.filter { !inLife || !$0.frame.isLast }
        guard !frames.isEmpty else { return }
        let (node, frame) = record.pick(inLife && record.oneIn(2) ? fresh(of: frames) : aimed(at: frames))
        strikes += 1
        record.count(frame.isLast ? .lastFrameRotted : .frameRotted)
        record.note("a frame with \(frame.events) rots")
        let place = record.number(frame.range.lowerBound...frame.range.upperBound - 1)
        node.rot(at: place, bit: 1 << UInt8(record.number(0...7)))
        damaged.formUnion(frame.events)
        // It may be what said of others that they were on the disk.
        if frame.isLast { doubt(platter) }
    }

    /// Any of them, those with events that are needed, or the newest.
    private func aimed(
        at frames: [(node: Platter.Node, frame: LogRot.Frame)]
    ) -> [(node: Platter.Node, frame: LogRot.Frame)] {
        let newest = frames.compactMap(\.frame.events.last).max()
        let aimed =
            switch gap.isSettled ? 0 : record.number(0...2) {
            case 0: frames.filter { $0.frame.events.last == newest }
            case 1: frames.filter { $0.frame.events.contains(where: isNeeded) }
            default: frames
            }
        return aimed.isEmpty ? frames : aimed
    }

    /// Those in the segment that is written to which are about to be read.
    private func fresh(
        of frames: [(node: Platter.Node, frame: LogRot.Frame)]
    ) -> [(node: Platter.Node, frame: LogRot.Frame)] {
        let newest = frames.map(\.frame.segment).max()
        let fresh = frames.filter { $0.frame.segment == newest && $0.frame.events.contains(where: isNeeded) }
        return fresh.isEmpty ? frames : fresh
    }

    /// What was not synced is gone, and with it what it said of the rest: of several groups in one write a start takes what has rotted for
    /// its end, and those behind it are gone, too.
    func powerLost(_ platter: Platter) {
        if kind == .frames, strikes > 0 { doubt(platter) }
    }

    /// What says of damaged events that they were on the disk may be gone.
    private func doubt(_ platter: Platter) {
        for (path, node) in platter.names where path.hasSuffix(".log") {
            damaged.formUnion(LogRot(node.bytes, inLife: false).cutOff)
        }
        doubtful = damaged
    }

    func lifeEnded() {
        gap = NumberGap()
    }

    /// Reads give something else than there is, from now on.
    func misread(_ disk: SimulatedDisk) {
        strikes += 1
        record.count(.misread)
        disk.mood.misreads = record.pick([10, 100])
    }

    /// Where a pattern ends, each time that it is there.
    private static func places(of pattern: [UInt8], in bytes: [UInt8]) -> [Int] {
        guard bytes.count > pattern.count else { return [] }
        return bytes.withUnsafeBufferPointer { bytes in
            (0..<bytes.count - pattern.count).filter { start in
                bytes[start] == pattern[0] && pattern.indices.allSatisfy { bytes[start + $0] == pattern[$0] }
            }.map { $0 + pattern.count }
        }
    }

    // MARK: Damage of stored data

    func asked(_ group: AppendGroup) {
        gap.asked()
        contents[group.chunk.lastSequenceNumber] = group.chunk.map { ($0.sequenceNumber, $0.route) }
        for event in group.chunk {
            // The end of a log that has rotted cannot be told from a write that was cut off: its numbers are given again.
            if kind == .frames {
                damaged.remove(event.sequenceNumber)
                doubtful.remove(event.sequenceNumber)
            }
            guard case .object(let members)? = try? DataItem(parsing: event.json(attempt: 1)),
                let content = Content(members)
            else { continue }
            values[event.sequenceNumber, default: []].append(content)
        }
    }

    func answered(_ group: AppendGroup, _ fault: StoreFault?) {
        gap.answered(group, fault)
    }

    /// So much is asked to be written down as settled.
    func asked(_ settled: Settled) {
        gap.asked(settled)
    }

    /// A store was opened.
    /// - Parameters:
    ///   - rows: groups that lie there and are not what was written.
    ///   - warnings: what the daemon says of its store.
    /// - Returns: the events that lie in damaged groups, or lay in those that the start has put aside: it counts what these should have held.
    func found(_ rows: [SequenceNumber], _ warnings: [String]) -> [(number: SequenceNumber, route: RouteNumber)] {
        guard kind.store == .sqlite else {
            found(warnings)
            return []
        }
        let told = warnings.compactMap(Rot.group)
        record.expect(told.count == warnings.count, "the store is not what it was: \(warnings)")
        groups.formUnion(rows + told)
        record.expect(groups.count <= strikes, "\(groups.sorted()) are damaged, and \(strikes) bytes were")
        for group in rows + told { damaged.formUnion((contents[group] ?? []).map(\.number)) }
        return Set(rows + told).sorted().flatMap { contents[$0] ?? [] }
    }

    /// Of a log it is enough to know what can be read: what cannot is not waited for.
    private func found(_ warnings: [String]) {
        missing = 0
        let isTold = warnings.allSatisfy { $0.contains(" are damaged and left out") }
        record.expect(isTold && (warnings.isEmpty || strikes > 0), "the store is not what it was: \(warnings)")
        if !warnings.isEmpty { record.count(.frameLeftOut) }
    }

    /// A start counts events for a dispatcher that are not there any more.
    /// - Returns: whether so many may be damaged.
    func counts(missing number: Int) -> Bool {
        missing += number
        return kind == .frames && number <= damaged.count
    }

    /// The group that a warning is about.
    private static func group(_ warning: String) -> SequenceNumber? {
        let (head, tail) = ("the group of events that ends with ", " was damaged and is put aside")
        guard warning.hasPrefix(head), warning.hasSuffix(tail) else { return nil }
        return SequenceNumber(warning.dropFirst(head.count).dropLast(tail.count))
    }

    // MARK: Damage of sent data

    /// Nobody gets what is not as it was tracked.
    func sent(_ batch: Batch, to lane: String) {
        for event in batch.events {
            guard let values = values[event.sequenceNumber] else { continue }
            guard case .object(let members)? = try? DataItem(parsing: Array(batch.body[event.range])) else {
                return record.insist(false, "\(lane) gets \(event.sequenceNumber), which is no event")
            }
            let number = Content(members)?.number
            let isSo = values.contains { $0.number == number }
            record.insist(isSo, "\(lane) gets \(event.sequenceNumber) as \(members), and that was never tracked")
        }
    }

    /// Whether what is gone was counted: as put aside or otherwise, and what rot has taken before a start not at all.
    /// - Parameters:
    ///   - lost: how many are gone.
    ///   - counted: how many of them are counted as expired or evicted.
    ///   - spoilt: how many of them lay in damaged groups.
    func explains(_ lost: Int, counted: Int, putAside: Int, ofSpoilt spoilt: Int) -> Bool {
        if putAside > 0 { record.count(.damagedPutAside) }
        // Of a row it is known what it held, and who misses it says so.
        guard kind == .frames else { return lost == counted + putAside }
        // What is not there any more may have been let go of before it was missed, and missed by some only.
        return counted <= lost + missing && lost <= counted + spoilt && putAside <= spoilt + missing
    }
}
