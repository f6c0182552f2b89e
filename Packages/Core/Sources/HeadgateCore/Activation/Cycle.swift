/// One run of a barrier and all who wait for it (Behaviour A4). A cycle has the number of its barrier's activation: so each
/// cycle is a generation of its own, and an answer to an earlier one is no answer to it (Behaviour A5).
struct Cycle {
    let identity: CycleIdentity
    private var queue = WaitingLine()

    /// One who waits, and under which terms.
    struct Waiter {
        let activation: Int
        let barrier: ActivationBarrier
    }

    init(identity: CycleIdentity, first: Waiter) {
        self.identity = identity
        queue.append(first)
    }

    /// All who wait, in the order in which they came.
    var waiters: [Waiter] { queue.all }

    mutating func join(_ waiter: Waiter) {
        queue.append(waiter)
    }

    /// One who waited is gone, and nothing is kept of it.
    /// - Returns: whether nobody waits any more.
    mutating func leave(_ activation: Int) -> Bool {
        queue.remove(activation)
        return queue.isEmpty
    }

    /// How long its completion counts at most for those who wait for it; nil: not at all.
    var sticky: Duration? {
        identity.isShared ? waiters.lazy.compactMap(\.barrier.sticky).max() : nil
    }
}

/// Waiters in the order in which they came, each linked to the next: anybody can go out of the middle at a cost that does
/// not grow with how many wait.
private struct WaitingLine {
    private var places: [Int: Place] = [:]
    private var first: Int?
    private var last: Int?

    private struct Place {
        let waiter: Cycle.Waiter
        var previous: Int?
        var next: Int?
    }

    var isEmpty: Bool { places.isEmpty }

    var all: [Cycle.Waiter] {
        Array(
            sequence(state: first) { at in
                guard let place = at.flatMap({ places[$0] }) else { return nil }
                at = place.next
                return place.waiter
            })
    }

    mutating func append(_ waiter: Cycle.Waiter) {
        let number = waiter.activation
        places[number] = Place(waiter: waiter, previous: last)
        if let last { places[last]?.next = number } else { first = number }
        last = number
    }

    mutating func remove(_ number: Int) {
        guard let place = places.removeValue(forKey: number) else { return }
        if let previous = place.previous { places[previous]?.next = place.next } else { first = place.next }
        if let next = place.next { places[next]?.previous = place.previous } else { last = place.previous }
    }
}

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
