import HeadgateCore
import HeadgateSeeds

@testable import HeadgateStore

/// Damage of single frames with events (Behaviour Q8), while a store runs or between two starts. A damaged frame loses
/// its events, and the frames behind it if none of them confirms it.
///
/// It draws its own random numbers, so that histories without damage stay as they are.
final class StoreDamage {
    private var random: SeededRandom
    /// Events that may be lost. Their numbers may be given again, unless something else mentions them.
    private(set) var lost: Set<SequenceNumber> = []
    /// True if a damaged frame ends the log for the next start, although there are frames behind it.
    private(set) var cutsOff = false
    private var hasStruck = false
    private let durability: Durability

    init(_ seed: Seed, _ durability: Durability) {
        self.durability = durability
        random = SeededRandom(seed: Seed(seed.number ^ 0x726f_74))
    }

    /// Returns true if a warning of a start may follow from damage. With `normal` a damaged frame may end the log, and the
    /// frames behind it may have dropped files.
    func explains(_ warning: String) -> Bool {
        hasStruck
            && (warning.contains(" are damaged and are ignored")
                || durability == .normal && warning.contains(" no longer exists"))
    }

    private func isTrue(oneIn count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    /// Returns how many numbers the queue has given to events that the store refused. With many, the size of a damaged
    /// frame does not tell how far its numbers reach.
    func gap() -> SequenceNumber { isTrue(oneIn: 6) ? SequenceNumber.random(in: 1_000...5_000, using: &random) : 0 }

    /// Notes a group whose numbers may have been lost before.
    func requested(_ group: AppendGroup) { lost.subtract(group.chunk.map(\.sequenceNumber)) }

    /// Notes that a start has read the log, and what is lost with a damaged frame.
    func started() { cutsOff = false }

    /// Damages a frame at times, while the store runs.
    func strikeInLife(_ medium: SimulatedMedium, _ record: Record) {
        if isTrue(oneIn: 40) { strike(medium, inLife: true, record) }
    }

    /// Damages a frame at times, between two lives.
    func lifeEnded(_ medium: SimulatedMedium, _ record: Record) {
        if isTrue(oneIn: 3) { strike(medium, inLife: false, record) }
        // If the frames that confirmed a damaged one are gone, a start takes the damaged one for the end of the log.
        guard hasStruck else { return }
        for (path, node) in medium.names where path.hasSuffix(".log") {
            let found = LogCorruption(node.bytes, inLife: false)
            lost.formUnion(found.cutOff)
            cutsOff = cutsOff || found.cutsOff
        }
    }

    private func strike(_ medium: SimulatedMedium, inLife: Bool, _ record: Record) {
        let all = medium.names.keys.sorted().filter { $0.hasSuffix(".log") }.compactMap { medium.names[$0] }
            .flatMap { node in LogCorruption(node.bytes, inLife: inLife).frames.map { (node: node, frame: $0) } }
            .filter { !inLife || !$0.frame.isLast }
        let newest = all.compactMap(\.frame.events.last).max()
        let aimed = isTrue(oneIn: 2) ? all.filter { $0.frame.events.last == newest } : all
        guard let (node, frame) = aimed.randomElement(using: &random) else { return }
        record.count(frame.isLast ? .lastFrameRotted : .frameRotted)
        record.note("a frame with \(frame.events) is damaged")
        node.corrupt(at: Int.random(in: frame.range, using: &random), bit: 1 << UInt8.random(in: 0...7, using: &random))
        lost.formUnion(frame.events)
        hasStruck = true
    }
}
