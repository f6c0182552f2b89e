/// The number of a set of dispatchers. It is the same across restarts.
public typealias RouteNumber = UInt32

/// The number of a dispatcher. It is the same across restarts.
public typealias DispatcherNumber = Int32

/// The sets of dispatchers that stored events go to, each with a number, so that an event carries four bytes for any
/// number of dispatchers (Behaviour Q6).
///
/// A set without unsettled events is forgotten, but not at once, because it is likely to be used again.
public struct RouteTable {
    /// The route of events that no dispatcher gets (Behaviour P3).
    public static let noDispatcher: RouteNumber = 0

    /// The most sets that events may request, by their `dispatchers` or through load rules. More than fourteen
    /// dispatchers have more possible sets than that, and each set takes memory (Behaviour X2).
    public static let most = 16_384

    /// The limit in force: ``most``, or less in tests.
    var most = RouteTable.most
    private var members: [RouteNumber: [DispatcherNumber]] = [RouteTable.noDispatcher: []]
    private var numbers: [[DispatcherNumber]: RouteNumber] = [[]: RouteTable.noDispatcher]
    /// Routes that the store has not saved.
    private var unsaved: [RouteNumber: [DispatcherNumber]] = [:]
    /// The last assigned number. It is never forgotten, so that no number is reused, not even across a restart: old
    /// events with a forgotten number may still be in the store.
    private var newest = RouteTable.noDispatcher
    /// The number of sets at which unused sets are forgotten.
    private var sweepThreshold = RouteTable.leastThreshold

    private static let leastThreshold = 1024

    public init(saved: [RouteNumber: [DispatcherNumber]] = [:]) {
        for (number, dispatchers) in saved {
            members[number] = dispatchers
            numbers[dispatchers] = number
            newest = max(newest, number)
        }
    }

    /// The number of sets.
    public var count: Int { members.count }

    /// Returns the dispatchers of a route, ascending; none for a forgotten route.
    public func dispatchers(of route: RouteNumber) -> [DispatcherNumber] {
        members[route] ?? []
    }

    /// Returns the number of a set of dispatchers that the service chooses. A new set gets a new number.
    public mutating func number(of dispatchers: some Sequence<DispatcherNumber>) -> RouteNumber {
        let set = dispatchers.sorted()
        return numbers[set] ?? add(set)
    }

    /// Returns the number of a set of dispatchers that an event requests.
    /// - Throws: ``TooManyRoutes`` if the set is new and there are ``most`` sets.
    public mutating func number(
        requested dispatchers: some Sequence<DispatcherNumber>
    ) throws(TooManyRoutes) -> RouteNumber {
        let set = dispatchers.sorted()
        if let known = numbers[set] { return known }
        guard members.count < most else { throw TooManyRoutes() }
        return add(set)
    }

    private mutating func add(_ set: [DispatcherNumber]) -> RouteNumber {
        // The number wraps around after four billion sets.
        repeat { newest &+= 1 } while members[newest] != nil
        members[newest] = set
        numbers[set] = newest
        unsaved[newest] = set
        return newest
    }

    /// Adds a dispatcher to all sets. Older events then name it (Behaviour R4), and later events with the same set get
    /// another number.
    mutating func join(_ dispatcher: DispatcherNumber) {
        for (number, set) in members where number != RouteTable.noDispatcher && !set.contains(dispatcher) {
            members[number] = (set + [dispatcher]).sorted()
            unsaved[number] = members[number]
        }
        numbers = Dictionary(members.map { ($0.value, $0.key) }, uniquingKeysWith: max)
    }

    /// Returns the sets with a dispatcher.
    func sets(with dispatcher: DispatcherNumber) -> [RouteNumber: [DispatcherNumber]] {
        members.filter { $0.value.contains(dispatcher) }
    }

    // MARK: Saving

    /// Returns the routes that have to be saved with the next group of events.
    mutating func takeUnsaved() -> [RouteNumber: [DispatcherNumber]] {
        defer { unsaved = [:] }
        return unsaved
    }

    /// Marks routes as not saved, after their group could not be stored.
    mutating func restoreUnsaved(_ routes: [RouteNumber: [DispatcherNumber]]) {
        for number in routes.keys where members[number] != nil { unsaved[number] = members[number] }
    }

    // MARK: Forgetting

    /// True if there are enough sets to look for unused ones.
    var needsSweep: Bool { members.count >= min(sweepThreshold, most) }

    /// True if there are as many sets as there may be.
    var isFull: Bool { members.count >= most }

    /// Forgets the routes that are not used.
    /// - Returns: the forgotten routes that the store has saved.
    mutating func forget(unless isUsed: (RouteNumber) -> Bool) -> [RouteNumber] {
        var forgotten: [RouteNumber] = []
        for (number, set) in members where number != RouteTable.noDispatcher && number != newest && !isUsed(number) {
            members[number] = nil
            if numbers[set] == number { numbers[set] = nil }
            if unsaved.removeValue(forKey: number) == nil { forgotten.append(number) }
        }
        sweepThreshold = max(RouteTable.leastThreshold, 2 * members.count)
        return forgotten
    }
}

/// The error for an event that requests a new set of dispatchers while there are already ``RouteTable/most`` sets.
public struct TooManyRoutes: Error, Sendable, Equatable {
    public init() {}
}
