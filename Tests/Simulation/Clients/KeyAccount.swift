import HeadgateCore
import HeadgateData

/// A dispatcher that waits for a board, which puts out what goes with each batch (Behaviour A9).
struct KeyTerms {
    static let board = "key"
    let lane = "a"
    /// In milliseconds; nil: what the board has put out is good until it is refused.
    let sticky: Int?

    init(_ record: Record) {
        sticky = record.oneIn(2) ? nil : record.pick([500, 3_000])
    }

    /// What the dispatcher's entry has for it.
    var entry: DataObject {
        var barrier: DataObject = ["board": .string(KeyTerms.board)]
        if let sticky { barrier["sticky_ms"] = .number(DataNumber(sticky)) }
        return ["activation_barrier": .object(barrier)]
    }

    /// What the settings have beside: nothing else stands before that board.
    static let settings: DataObject = ["gateway": ["rules": ["key": "exempt"]]]
}

/// The account of the keys under which batches may go, in one life of the daemon.
final class KeyAccount {
    /// Whether a board stands before the dispatcher.
    private enum Phase {
        case on, off
        /// An operator has asked for the other.
        case unclear
    }

    let terms: KeyTerms
    private let record: Record
    private var phase = Phase.on
    /// What was given while another board stood there, or none.
    private var former: Set<String> = []
    /// Events that were refused then.
    private var tainted: Set<SequenceNumber> = []
    private let scheduler: any Scheduler
    private var made = 0
    /// Those that a process has given with a yes, the oldest first.
    private var given: [String] = []
    /// Those that no batch may go under any more.
    private var over: Set<String> = []
    /// When a batch went under each for the first time.
    private var firstUses: [String: Instant] = [:]
    /// Events of which nothing was said since the destination did not know the key.
    private var refused: Set<SequenceNumber> = []

    init(_ terms: KeyTerms, _ record: Record, _ scheduler: any Scheduler) {
        (self.terms, self.record, self.scheduler) = (terms, record, scheduler)
    }

    func lifeEnded() {
        over.formUnion(given)
        (given, firstUses, refused) = ([], [:], [])
        (phase, tainted) = (.on, [])
    }

    // MARK: The operator

    /// Whether a board stands there, as far as was said last.
    var isOn: Bool { phase != .off }

    /// An operator asks that a board stand there, or none.
    func asked() {
        if phase == .off { over.formUnion(given) }
        phase = .unclear
        tainted.formUnion(refused)
        former.formUnion(given)
    }

    func answered(isOn: Bool) {
        phase = isOn ? .on : .off
        if !isOn {
            former.formUnion(given)
            over.formUnion(given)
        }
    }

    // MARK: The board

    /// A key that is like no other.
    func newKey() -> String {
        made += 1
        return "k\(made)"
    }

    /// A process says yes.
    func gives(_ key: String) {
        given.append(key)
    }

    // MARK: The destination

    /// Whether some events may be given up for the next key that is not known.
    var hasRefused: Bool { !refused.isEmpty }

    func sent(_ batch: Batch) {
        let numbers = batch.events.map(\.sequenceNumber)
        if phase == .off {
            return record.expect(batch.output.isEmpty, "\(terms.lane) gets \(numbers) under a key, and needs none")
        }
        if phase == .unclear, batch.output.isEmpty { return }
        guard let key = batch.output.get(key: "token", as: String.self), given.contains(key) else {
            return record.expect(false, "\(terms.lane) gets \(numbers) under a key that nobody gave")
        }
        record.expect(!over.contains(key), "\(terms.lane) gets \(numbers) under \(key), which is over")
        // Who goes under a newer one never goes under an older one again.
        over.formUnion(given.prefix { $0 != key })
        let first = firstUses[key] ?? scheduler.now
        if firstUses[key] == nil { record.count(.keyUsed) }
        firstUses[key] = first
        guard let sticky = terms.sticky else { return }
        let isOver = scheduler.now > first + .milliseconds(sticky)
        record.expect(!isOver, "\(terms.lane) gets \(numbers) under \(key) for more than \(sticky) ms")
    }

    /// Whether the destination may not know the key of a batch. What was sent under no key, or under one of another board, is given up
    /// for that at once.
    func mayRefuse(_ batch: Batch) -> Bool {
        guard phase == .on, let key = batch.output.get(key: "token", as: String.self) else { return false }
        return !former.contains(key) && !batch.events.contains { tainted.contains($0.sequenceNumber) }
    }

    /// The destination does not know the key of a batch: another is needed, and the events go once more before that counts.
    /// - Returns: those that have done so, and are given up.
    func refused(_ batch: Batch) -> [SequenceNumber] {
        if let key = batch.output.get(key: "token", as: String.self) { over.insert(key) }
        let numbers = batch.events.map(\.sequenceNumber)
        let again = numbers.filter(refused.contains)
        refused.formUnion(numbers)
        record.count(again.isEmpty ? .keyRefused : .keyRefusedAgain)
        return again
    }

    /// The destination says something else of them.
    func answered(_ numbers: [SequenceNumber]) {
        refused.subtract(numbers)
    }
}
