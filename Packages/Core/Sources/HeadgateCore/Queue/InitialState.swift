/// State that stored events depend on and that the store may not have yet.
///
/// It is part of each group until a group with it is committed. If it were written separately, that write could fail
/// while the events are acknowledged. The next start would then not know the dispatchers of the events (Behaviour P1).
public struct InitialState: Sendable, Equatable {
    /// Dispatchers that were added, for the first time or again, in their state at that time.
    public var dispatchers: [StoredDispatcher] = []
    /// Small values by name.
    public var kept: [String: [UInt8]] = [:]

    /// Creates an empty value.
    public init() {}

    /// True if there is no state to save.
    public var isEmpty: Bool { dispatchers.isEmpty && kept.isEmpty }

    /// Adds a dispatcher that was added, for the first time or again.
    mutating func add(_ dispatcher: StoredDispatcher) {
        forget(dispatcher.number)
        dispatchers.append(dispatcher)
    }

    /// Records that a dispatcher was removed or added again. Events that were stored for it meanwhile still depend on
    /// it.
    mutating func note(_ dispatcher: DispatcherNumber, orphanedSince stamp: Int64?) {
        for index in dispatchers.indices where dispatchers[index].number == dispatcher {
            dispatchers[index].orphanedSince = stamp
        }
    }

    /// Removes the state that the store has saved.
    mutating func saved(_ other: InitialState) {
        dispatchers.removeAll { dispatcher in other.dispatchers.contains { $0.number == dispatcher.number } }
        for name in other.kept.keys { kept[name] = nil }
    }

    /// Removes a dispatcher whose queue is deleted: no event depends on it.
    mutating func forget(_ dispatcher: DispatcherNumber) {
        dispatchers.removeAll { $0.number == dispatcher }
    }
}
