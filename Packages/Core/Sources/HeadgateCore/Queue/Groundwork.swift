/// What stored events rely on beside themselves, and the store may not have yet. It goes with each group until one that it
/// went with is committed: were it only asked to be written by itself, that could fail while the events are acknowledged, and the
/// next start would not know whom they are for (Behaviour P1).
public struct Groundwork: Sendable, Equatable {
    /// Dispatchers that have appeared or come back, as they were then.
    public var dispatchers: [StoredDispatcher] = []
    /// What is kept under a name.
    public var kept: [String: [UInt8]] = [:]

    /// Nothing.
    public init() {}

    /// Whether there is nothing.
    public var isEmpty: Bool { dispatchers.isEmpty && kept.isEmpty }

    /// A dispatcher has appeared, or is back.
    mutating func add(_ dispatcher: StoredDispatcher) {
        forget(dispatcher.number)
        dispatchers.append(dispatcher)
    }

    /// A dispatcher is gone again. What was stored for it meanwhile relies on it all the same.
    mutating func note(_ dispatcher: DispatcherNumber, orphanedSince stamp: Int64?) {
        for place in dispatchers.indices where dispatchers[place].number == dispatcher {
            dispatchers[place].orphanedSince = stamp
        }
    }

    /// What was added is in the store.
    mutating func saved(_ other: Groundwork) {
        dispatchers.removeAll { dispatcher in other.dispatchers.contains { $0.number == dispatcher.number } }
        for name in other.kept.keys { kept[name] = nil }
    }

    /// A dispatcher is given up, and nobody relies on it.
    mutating func forget(_ dispatcher: DispatcherNumber) {
        dispatchers.removeAll { $0.number == dispatcher }
    }
}
