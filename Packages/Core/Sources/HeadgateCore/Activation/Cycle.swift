/// A run of a barrier with the activations that wait for it (Behaviour A4). A cycle has the number of its barrier's
/// activation, which is also its generation: an answer to an earlier cycle never applies to it (Behaviour A5).
struct Cycle {
    let identity: CycleIdentity
    private var queue = WaiterList()

    /// A waiting activation with its barrier settings.
    struct Waiter {
        let activation: Int
        let barrier: ActivationBarrier
    }

    init(identity: CycleIdentity, first: Waiter) {
        self.identity = identity
        queue.append(first)
    }

    /// The waiting activations in order of arrival.
    var waiters: [Waiter] { queue.all }

    mutating func join(_ waiter: Waiter) {
        queue.append(waiter)
    }

    /// Removes a waiting activation.
    /// - Returns: true if none is left.
    mutating func leave(_ activation: Int) -> Bool {
        queue.remove(activation)
        return queue.isEmpty
    }

    /// The longest time for which the completion is valid for the waiting activations; nil for none.
    var sticky: Duration? {
        identity.isShared ? waiters.lazy.compactMap(\.barrier.sticky).max() : nil
    }
}

/// A linked list of waiters in order of arrival. Removing a waiter takes constant time.
private struct WaiterList {
    private var nodes: [Int: Node] = [:]
    private var first: Int?
    private var last: Int?

    private struct Node {
        let waiter: Cycle.Waiter
        var previous: Int?
        var next: Int?
    }

    var isEmpty: Bool { nodes.isEmpty }

    var all: [Cycle.Waiter] {
        Array(
            sequence(state: first) { at in
                guard let node = at.flatMap({ nodes[$0] }) else { return nil }
                at = node.next
                return node.waiter
            })
    }

    mutating func append(_ waiter: Cycle.Waiter) {
        let number = waiter.activation
        nodes[number] = Node(waiter: waiter, previous: last)
        if let last { nodes[last]?.next = number } else { first = number }
        last = number
    }

    mutating func remove(_ number: Int) {
        guard let node = nodes.removeValue(forKey: number) else { return }
        if let previous = node.previous { nodes[previous]?.next = node.next } else { first = node.next }
        if let next = node.next { nodes[next]?.previous = node.previous } else { last = node.previous }
    }
}

/// The completed barriers that are still valid (`sticky_ms`, Behaviour A4). Memory is bounded: if there are too many,
/// those that expire first are forgotten, and run again.
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

    /// Returns true if a barrier has completed within the last `sticky`.
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
