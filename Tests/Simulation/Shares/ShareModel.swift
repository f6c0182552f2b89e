import HeadgateCore

/// The rule of Behaviour Q4 for a full store, derived from the acknowledged events alone. All senders share nine tenths
/// of each limit. The last tenth is divided among users, and each user's slice among the user's namespaces.
final class ShareModel {
    /// The sender of events: a namespace of a user, as it is stored.
    struct Sender: Hashable {
        let uid: UInt32
        let namespace: String
    }

    /// The answer that a request must get.
    enum Verdict {
        case stored, queueFull, tooLarge
    }

    /// The largest last tenth, in events and in bytes, of which no slice is reserved for users without events.
    private static let mostUnkept = Tally(events: 99, bytes: 1_048_575)

    let limits: Tally
    /// The sequence number of the last event.
    private(set) var last: SequenceNumber = 0
    /// The number and size of the events that some dispatcher has not settled.
    private(set) var held = Tally.zero
    private var open: [SequenceNumber: (bytes: Int, queues: Set<String>)] = [:]
    /// The events that each sender stored in the last minute, by spans of ten seconds.
    private var uses: [Int64: [Sender: Tally]] = [:]

    init(limits: Tally) {
        self.limits = limits
    }

    // MARK: Events

    func store(_ bytes: Int, for queues: Set<String>, of sender: Sender, at now: Instant) {
        last += 1
        let size = Tally(events: 1, bytes: bytes)
        held += size
        open[last] = (bytes, queues)
        uses[ShareModel.span(now), default: [:]][sender, default: .zero] += size
    }

    /// Records that a dispatcher has delivered or dropped an event.
    func settled(_ number: SequenceNumber, of queue: String) {
        guard let bytes = open[number]?.bytes else { return }
        open[number]?.queues.remove(queue)
        guard open[number]?.queues.isEmpty == true else { return }
        open[number] = nil
        held = held - Tally(events: 1, bytes: bytes)
    }

    /// Clears the usage of the last minute, which a daemon does not keep across a restart.
    func lifeEnded() { uses = [:] }

    private static func span(_ now: Instant) -> Int64 { now.nanoseconds / 10_000_000_000 }

    // MARK: The rule

    /// Returns true if new events would use a part of a last tenth.
    func isShared(with new: Tally) -> Bool {
        held.events + new.events > limits.events - limits.events / 10
            || held.bytes + new.bytes > limits.bytes - limits.bytes / 10
    }

    /// Returns the answer to a request with new events.
    func verdict(on new: Tally, of sender: Sender, at now: Instant) -> Verdict {
        let size = held + new
        if new.bytes > limits.bytes { return .tooLarge }
        if new.events == 0 || !isShared(with: new) { return .stored }
        guard size.events <= limits.events, size.bytes <= limits.bytes else { return .queueFull }
        // A large event alone may need more than a share.
        if held == .zero { return .stored }
        let isWithin =
            Double(size.events) <= room(of: sender, at: now, \.events) + 0.000_1
            && Double(size.bytes) <= room(of: sender, at: now, \.bytes) + 0.000_1
        return isWithin ? .stored : .queueFull
    }

    /// Returns the size up to which a sender may fill the store.
    private func room(of sender: Sender, at now: Instant, _ measure: (Tally) -> Int) -> Double {
        uses = uses.filter { $0.key > ShareModel.span(now) - 6 }
        let minute = uses.values.reduce(into: [:]) { $0.merge($1.mapValues(measure), uniquingKeysWith: +) }
        let ofUser = minute.filter { $0.key.uid == sender.uid }
        let users = Dictionary(minute.map { ($0.key.uid, $0.value) }, uniquingKeysWith: +)
        let user = ShareModel.share(of: users[sender.uid], among: users)
        let namespace = ShareModel.share(of: ofUser[sender], among: ofUser)
        let limit = measure(limits)
        let kept = limit / 10 > measure(ShareModel.mostUnkept) ? 1.0 : 0
        let slice = Double(limit / 10) / (user.all + kept)
        let part = slice / (namespace.all + kept / (user.all + 1))
        return Double(limit - limit / 10) + user.heavier * slice + (namespace.heavier + 1) * part
    }

    /// Returns the number of participants that stored more than this one, and the number of all including this one.
    private static func share<Key>(of own: Int?, among all: [Key: Int]) -> (heavier: Double, all: Double) {
        let others = all.values.count { $0 > own ?? 0 }
        return (Double(others), Double(all.count + (own == nil ? 1 : 0)))
    }
}
