/// A short name for one set of dispatchers, the same over restarts.
public typealias RouteNumber = UInt32

/// A short name for one dispatcher, the same over restarts.
public typealias DispatcherNumber = Int32

/// The sets of dispatchers that stored events go to, each under a number, so that an event carries four bytes whatever
/// the number of its dispatchers (Behaviour Q6).
///
/// A set that no unsettled event goes to any more is forgotten, but not at once: mostly it is asked for again.
public struct RouteTable {
    /// The route of events that no dispatcher wants (Behaviour P3).
    public static let nobody: RouteNumber = 0

    /// The most sets that events may ask for, be it by their `dispatchers` or by load rules: with over fourteen
    /// dispatchers there are more than anybody has use for, and each takes memory (Behaviour X2).
    public static let most = 16_384

    /// ``most``, and fewer in tests.
    var most = RouteTable.most
    private var members: [RouteNumber: [DispatcherNumber]] = [RouteTable.nobody: []]
    private var numbers: [[DispatcherNumber]: RouteNumber] = [[]: RouteTable.nobody]
    /// Routes that the store has not been told of.
    private var unsaved: [RouteNumber: [DispatcherNumber]] = [:]
    /// The number that was given last. It is never forgotten, so that none is given twice, over a restart either:
    /// old events may still lie in the store under a number that is.
    private var newest = RouteTable.nobody
    /// With so many it is time to look which are not used.
    private var crowd = RouteTable.leastCrowd

    private static let leastCrowd = 1024

    public init(saved: [RouteNumber: [DispatcherNumber]] = [:]) {
        for (number, dispatchers) in saved {
            members[number] = dispatchers
            numbers[dispatchers] = number
            newest = max(newest, number)
        }
    }

    /// How many sets there are.
    public var count: Int { members.count }

    /// The dispatchers of a route, ascending; none for one that is forgotten.
    public func dispatchers(of route: RouteNumber) -> [DispatcherNumber] {
        members[route] ?? []
    }

    /// The number of a set of dispatchers that the service itself makes up; a new one is made for a new set.
    public mutating func number(of dispatchers: some Sequence<DispatcherNumber>) -> RouteNumber {
        let set = dispatchers.sorted()
        return numbers[set] ?? add(set)
    }

    /// The number of a set of dispatchers that an event asks for; throws when there are too many (``most``).
    public mutating func number(
        asked dispatchers: some Sequence<DispatcherNumber>
    ) throws(TooManyRoutes) -> RouteNumber {
        let set = dispatchers.sorted()
        if let known = numbers[set] { return known }
        guard members.count < most else { throw TooManyRoutes() }
        return add(set)
    }

    private mutating func add(_ set: [DispatcherNumber]) -> RouteNumber {
        // After four billion sets it begins anew.
        repeat { newest &+= 1 } while members[newest] != nil
        members[newest] = set
        numbers[set] = newest
        unsaved[newest] = set
        return newest
    }

    // MARK: Writing down

    /// The routes that have to be written down with the next group of events.
    mutating func takeUnsaved() -> [RouteNumber: [DispatcherNumber]] {
        defer { unsaved = [:] }
        return unsaved
    }

    /// Puts back what could not be written down.
    mutating func restoreUnsaved(_ routes: [RouteNumber: [DispatcherNumber]]) {
        for (number, set) in routes where members[number] != nil { unsaved[number] = set }
    }

    // MARK: Forgetting

    /// Whether there are so many that it is worth looking which can be forgotten.
    var isCrowded: Bool { members.count >= min(crowd, most) }

    /// Forgets the routes that nothing needs.
    /// - Returns: those that the store may forget as well.
    mutating func forget(unless isUsed: (RouteNumber) -> Bool) -> [RouteNumber] {
        var forgotten: [RouteNumber] = []
        for (number, set) in members where number != RouteTable.nobody && number != newest && !isUsed(number) {
            members[number] = nil
            numbers[set] = nil
            if unsaved.removeValue(forKey: number) == nil { forgotten.append(number) }
        }
        crowd = max(RouteTable.leastCrowd, 2 * members.count)
        return forgotten
    }
}

/// Events ask for more different sets of dispatchers than the service keeps (``RouteTable/most``).
public struct TooManyRoutes: Error, Sendable, Equatable {
    public init() {}
}
