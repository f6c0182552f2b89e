import HeadgateCore
import HeadgateData

@testable import HeadgateServer
@testable import HeadgateStore

/// The damage of stored bytes, synced or not (Behaviour Q8), and the events that may be lost as a result.
///
/// A damaged frame of events loses only the events in that frame. If any byte of the store may be damaged, less is
/// promised: the daemon starts, continues, and delivers no event that differs from the tracked one.
final class Corruption {
    enum Kind: CaseIterable {
        /// Damages only frames of events, whose loss is known.
        case frames
        /// Damages any byte of the store.
        case anything
    }

    let kind: Kind
    private let record: Record
    /// The number of times that something was damaged.
    private(set) var strikes = 0
    /// The data of each event. If power fails after the damage, an earlier event with the same number may be back.
    private var values: [SequenceNumber: [Content]] = [:]
    /// Events that may be lost.
    private(set) var damaged: Set<SequenceNumber> = []
    /// Damaged events that a start may take for a torn write, since no later frame confirms that they were on disk.
    private(set) var doubtful: Set<SequenceNumber> = []
    /// True if a dispatcher still has to get the event.
    var isNeeded: (SequenceNumber) -> Bool = { _ in false }
    private(set) var gap = NumberGap()
    /// The number of events that the start of this life counted but that no longer exist.
    private var missing = 0

    init(_ kind: Kind, _ record: Record) {
        (self.kind, self.record) = (kind, record)
    }

    /// True if the damage is so arbitrary that only the promises that always hold can be checked.
    var isWild: Bool { kind == .anything && strikes > 0 }

    // MARK: Damage

    /// Damages a random frame of events, or a random byte of the store's files.
    func strike(_ medium: SimulatedMedium, inLife: Bool = false) {
        switch kind {
        case .frames: strikeFrame(medium, inLife)
        case .anything:
            let paths = medium.names.keys.filter { $0.contains("/log/") }.sorted()
            guard !paths.isEmpty, let node = medium.names[record.pick(paths)], !node.bytes.isEmpty else { return }
            strikes += 1
            record.count(.anythingRotted)
            record.note("stored bits are changed")
            // The beginning of a file is the most sensitive part.
            let most = record.oneIn(3) ? min(100, node.bytes.count) : node.bytes.count
            for _ in 0..<record.number(1...6) {
                node.corrupt(at: record.number(0...most - 1), bit: UInt8(1 << record.number(0...7)))
            }
        }
    }

    /// Changes a byte of a frame with events: one that later frames confirm as written, or the last of its file.
    ///
    /// Unsynced frames after the last one would be lost with it, so that the last frame is spared while the daemon
    /// runs.
    private func strikeFrame(_ medium: SimulatedMedium, _ inLife: Bool) {
        let frames = medium.names.keys.sorted().filter { $0.hasSuffix(".log") }.flatMap { path in
            medium.names[path].map { node in
                LogCorruption(node.bytes, inLife: inLife).frames.map { (node: node, frame: $0) }
            } ?? []
        }.filter { !inLife || !$0.frame.isLast }
        guard !frames.isEmpty else { return }
        let (node, frame) = record.pick(inLife && record.oneIn(2) ? fresh(of: frames) : aimed(at: frames))
        strikes += 1
        record.count(frame.isLast ? .lastFrameRotted : .frameRotted)
        record.note("a frame with \(frame.events) is damaged")
        let offset = record.number(frame.range.lowerBound...frame.range.upperBound - 1)
        node.corrupt(at: offset, bit: 1 << UInt8(record.number(0...7)))
        damaged.formUnion(frame.events)
        // The frame may have been the confirmation of earlier frames.
        if frame.isLast { doubt(medium) }
    }

    /// Returns any frames, frames with needed events, or the newest frame.
    private func aimed(
        at frames: [(node: SimulatedMedium.Node, frame: LogCorruption.Frame)]
    ) -> [(node: SimulatedMedium.Node, frame: LogCorruption.Frame)] {
        let newest = frames.compactMap(\.frame.events.last).max()
        let aimed =
            switch gap.isSettled ? 0 : record.number(0...2) {
            case 0: frames.filter { $0.frame.events.last == newest }
            case 1: frames.filter { $0.frame.events.contains(where: isNeeded) }
            default: frames
            }
        return aimed.isEmpty ? frames : aimed
    }

    /// Returns frames of the current segment that are about to be read.
    private func fresh(
        of frames: [(node: SimulatedMedium.Node, frame: LogCorruption.Frame)]
    ) -> [(node: SimulatedMedium.Node, frame: LogCorruption.Frame)] {
        let newest = frames.map(\.frame.segment).max()
        let fresh = frames.filter { $0.frame.segment == newest && $0.frame.events.contains(where: isNeeded) }
        return fresh.isEmpty ? frames : fresh
    }

    /// Accounts for a power failure. It removes unsynced frames that confirmed others. If several groups were in one
    /// write, a start takes a damaged one for the end of the log. The groups after it are then lost, too.
    func powerLost(_ medium: SimulatedMedium) {
        if kind == .frames, strikes > 0 { doubt(medium) }
    }

    /// Accounts for the possible loss of frames that confirmed damaged events.
    private func doubt(_ medium: SimulatedMedium) {
        for (path, node) in medium.names where path.hasSuffix(".log") {
            damaged.formUnion(LogCorruption(node.bytes, inLife: false).cutOff)
        }
        doubtful = damaged
    }

    func lifeEnded() {
        gap = NumberGap()
    }

    /// Makes reads return wrong bytes from now on.
    func misread(_ disk: SimulatedDisk) {
        strikes += 1
        record.count(.misread)
        disk.mood.misreads = record.pick([10, 100])
    }

    // MARK: Stored events

    func requested(_ group: AppendGroup) {
        gap.requested()
        for event in group.chunk {
            // The damaged end of a log cannot be distinguished from a torn write, so its numbers are given again.
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

    /// Records a settlement that is to be written.
    func requested(_ settled: Settled) {
        gap.requested(settled)
    }

    /// Checks the warnings of an opened store: they may report only damaged events, and only after damage.
    /// - Parameter warnings: The daemon's warnings about its store.
    func found(_ warnings: [String]) {
        missing = 0
        let isReported = warnings.allSatisfy { $0.contains(" are damaged and are ignored") }
        record.expect(isReported && (warnings.isEmpty || strikes > 0), "wrong warnings of the store: \(warnings)")
        if !warnings.isEmpty { record.count(.frameLeftOut) }
    }

    /// Records that a start counts events for a dispatcher that no longer exist.
    /// - Returns: True if that many may be damaged.
    func counts(missing number: Int) -> Bool {
        missing += number
        return kind == .frames && number <= damaged.count
    }

    // MARK: Sent events

    /// Checks that every delivered event equals the tracked one.
    func sent(_ batch: Batch, to queue: String) {
        for event in batch.events {
            guard let values = values[event.sequenceNumber] else { continue }
            guard case .object(let members)? = try? DataItem(parsing: Array(batch.body[event.range])) else {
                return record.insist(false, "\(queue) gets \(event.sequenceNumber), which is malformed")
            }
            let number = Content(members)?.number
            let isSo = values.contains { $0.number == number }
            record.insist(isSo, "\(queue) gets \(event.sequenceNumber) as \(members), which was never tracked")
        }
    }

    /// Returns true if the lost events were counted: as quarantined or otherwise. Events damaged before a start are not
    /// counted.
    /// - Parameters:
    ///   - lost: The number of lost events.
    ///   - counted: The number of them counted as expired or evicted.
    ///   - spoilt: The number of them in damaged groups.
    func explains(_ lost: Int, counted: Int, putAside: Int, ofSpoilt spoilt: Int) -> Bool {
        if putAside > 0 { record.count(.damagedPutAside) }
        guard kind == .frames else { return lost == counted + putAside }
        // A lost event may have been dropped before it was missed, and by some dispatchers only.
        return counted <= lost + missing && lost <= counted + spoilt && putAside <= spoilt + missing
    }
}
