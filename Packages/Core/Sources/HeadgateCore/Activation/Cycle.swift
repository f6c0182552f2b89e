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
