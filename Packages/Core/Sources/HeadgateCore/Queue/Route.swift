/// A short name for one set of dispatchers, the same over restarts.
public typealias RouteNumber = UInt32

/// A short name for one dispatcher, the same over restarts.
public typealias DispatcherNumber = Int32

/// Every set of dispatchers that an event has been sent to, each under a number, so that an event carries four bytes
/// whatever the number of its dispatchers (Behaviour Q6).
public struct RouteTable {
    /// The route of events that no dispatcher wants (Behaviour P3).
    public static let nobody: RouteNumber = 0

    /// The most sets that clients may make up; there is no end to those of many dispatchers, and they are kept for good.
    public static let most = 65_536

    private var members: [RouteNumber: [DispatcherNumber]] = [RouteTable.nobody: []]
    private var numbers: [[DispatcherNumber]: RouteNumber] = [[]: RouteTable.nobody]
    /// Routes that the store has not been told of.
    private var unsaved: [RouteNumber: [DispatcherNumber]] = [:]
    private var greatest = RouteTable.nobody

    public init(saved: [RouteNumber: [DispatcherNumber]] = [:]) {
        for (number, dispatchers) in saved {
            members[number] = dispatchers
            numbers[dispatchers] = number
            greatest = max(greatest, number)
        }
    }

    /// Whether there are as many as clients may make up.
    public var isFull: Bool { members.count >= RouteTable.most }

    /// Whether a set has a number already.
    public func knows(_ dispatchers: some Sequence<DispatcherNumber>) -> Bool {
        numbers[dispatchers.sorted()] != nil
    }

    /// The dispatchers of a route, ascending.
    public func dispatchers(of route: RouteNumber) -> [DispatcherNumber] {
        members[route] ?? []
    }

    /// The number of a set of dispatchers; a new one is made for a new set.
    public mutating func number(of dispatchers: some Sequence<DispatcherNumber>) -> RouteNumber {
        let set = dispatchers.sorted()
        if let known = numbers[set] { return known }
        greatest += 1
        let number = greatest
        members[number] = set
        numbers[set] = number
        unsaved[number] = set
        return number
    }

    /// The routes that have to be written down with the next group of events.
    mutating func takeUnsaved() -> [RouteNumber: [DispatcherNumber]] {
        defer { unsaved = [:] }
        return unsaved
    }

    /// Puts back what could not be written down.
    mutating func restoreUnsaved(_ routes: [RouteNumber: [DispatcherNumber]]) {
        unsaved.merge(routes) { present, _ in present }
    }
}
