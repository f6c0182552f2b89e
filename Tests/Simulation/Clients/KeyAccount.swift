import HeadgateCore
import HeadgateData

/// A dispatcher with an activation barrier, whose output goes with each batch (Behaviour A9).
struct KeyTerms {
    static let board = "key"
    let queue = "a"
    /// The validity of an output in milliseconds, or nil if it is valid until the destination refuses it.
    let sticky: Int?

    init(_ record: Record) {
        sticky = record.oneIn(2) ? nil : record.pick([500, 3_000])
    }

    /// The settings of the dispatcher for it.
    var entry: DataObject {
        var barrier: DataObject = ["board": .string(KeyTerms.board)]
        if let sticky { barrier["sticky_ms"] = .number(DataNumber(sticky)) }
        return ["activation_barrier": .object(barrier)]
    }

    /// Settings that exempt the board from the gateway.
    static let settings: DataObject = ["gateway": ["rules": ["key": "exempt"]]]
}

/// The model of the keys that batches may use in one life of the daemon.
final class KeyAccount {
    /// The state of the dispatcher's activation barrier.
    private enum Phase {
        case on, off
        /// A change was requested and not answered.
        case unclear
    }

    let terms: KeyTerms
    private let record: Record
    private var phase = Phase.on
    /// Keys given for an earlier activation barrier, or for none.
    private var former: Set<String> = []
    /// Events that the destination refused with a key in ``former``.
    private var tainted: Set<SequenceNumber> = []
    private let scheduler: any Scheduler
    private var made = 0
    /// Keys given by a process, oldest first.
    private var given: [String] = []
    /// Keys that no further batch may use.
    private var over: Set<String> = []
    /// The time of the first batch with each key.
    private var firstUses: [String: Instant] = [:]
    /// Events whose last outcome is a refused key.
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

    /// True if the dispatcher has an activation barrier, according to the last request.
    var isOn: Bool { phase != .off }

    /// Records a request to add or remove the activation barrier.
    func requested() {
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

    /// Returns a new unique key.
    func newKey() -> String {
        made += 1
        return "k\(made)"
    }

    /// Records a key that a process gives.
    func gives(_ key: String) {
        given.append(key)
    }

    // MARK: The destination

    /// True if the key of some events was refused, so that a second refusal dead-letters them.
    var hasRefused: Bool { !refused.isEmpty }

    func sent(_ batch: Batch) {
        let numbers = batch.events.map(\.sequenceNumber)
        if phase == .off {
            return record.expect(batch.output.isEmpty, "\(terms.queue) gets \(numbers) with a key but needs none")
        }
        if phase == .unclear, batch.output.isEmpty { return }
        guard let key = batch.output.get(key: "token", as: String.self), given.contains(key) else {
            return record.expect(false, "\(terms.queue) gets \(numbers) with an unknown key")
        }
        record.expect(!over.contains(key), "\(terms.queue) gets \(numbers) with \(key), which has expired")
        // A dispatcher that has used a newer key never uses an older one again.
        over.formUnion(given.prefix { $0 != key })
        let first = firstUses[key] ?? scheduler.now
        if firstUses[key] == nil { record.count(.keyUsed) }
        firstUses[key] = first
        guard let sticky = terms.sticky else { return }
        let isOver = scheduler.now > first + .milliseconds(sticky)
        record.expect(!isOver, "\(terms.queue) gets \(numbers) under \(key) for more than \(sticky) ms")
    }

    /// Returns true if the destination may refuse the key of a batch. Events sent without a key, or with a key of an
    /// earlier board, would be dead-lettered at once.
    func mayRefuse(_ batch: Batch) -> Bool {
        guard phase == .on, let key = batch.output.get(key: "token", as: String.self) else { return false }
        return !former.contains(key) && !batch.events.contains { tainted.contains($0.sequenceNumber) }
    }

    /// Records that the destination refused the key of a batch. A new key is required, and the events are sent again
    /// without charge. Returns the events that were refused twice and are dead-lettered.
    func refused(_ batch: Batch) -> [SequenceNumber] {
        if let key = batch.output.get(key: "token", as: String.self) { over.insert(key) }
        let numbers = batch.events.map(\.sequenceNumber)
        let again = numbers.filter(refused.contains)
        refused.formUnion(numbers)
        record.count(again.isEmpty ? .keyRefused : .keyRefusedAgain)
        return again
    }

    /// Records another outcome for events.
    func answered(_ numbers: [SequenceNumber]) {
        refused.subtract(numbers)
    }
}
