/// Barriers whose completion still counts (`sticky_ms`, Behaviour A4). Bounded: when there are too many, those that would
/// count for the shortest time are forgotten, and are run again.
struct CompletedBarriers {
    private var completions: [CycleIdentity: Instant] = [:]
    private var ends = Deadlines<CycleIdentity>()
    private var weight = 0
    private let mostWeight: Int

    init(mostWeight: Int = 4 << 20) {
        self.mostWeight = mostWeight
    }

    var isEmpty: Bool { completions.isEmpty }
    var nextDeadline: Instant? { ends.next }

    mutating func remember(_ identity: CycleIdentity, at now: Instant, for sticky: Duration) {
        forget(identity)
        completions[identity] = now
        ends.set(identity, at: now + sticky)
        weight += identity.weight
        while weight > mostWeight, let first = ends.popFirst() { forget(first) }
    }

    /// Whether a barrier has completed no longer ago than this.
    func hasCompleted(_ identity: CycleIdentity, within sticky: Duration, at now: Instant) -> Bool {
        completions[identity].map { now < $0 + sticky } ?? false
    }

    mutating func forgetDue(at now: Instant) {
        while let identity = ends.popDue(at: now) { forget(identity) }
    }

    private mutating func forget(_ identity: CycleIdentity) {
        guard completions.removeValue(forKey: identity) != nil else { return }
        ends.remove(identity)
        weight -= identity.weight
    }
}
