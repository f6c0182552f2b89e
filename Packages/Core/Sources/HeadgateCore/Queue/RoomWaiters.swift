/// The callbacks that wait for room in the gathering group, in order of arrival. There may be thousands.
struct RoomWaiters {
    private var line: [(() -> Void)?] = []
    /// The index of the first callback that has not been called.
    private var first = 0

    /// The number of free entries from which the array is compacted, if they are in the majority.
    private static let mostFree = 256

    var isEmpty: Bool { first == line.count }

    mutating func add(_ work: @escaping () -> Void) { line.append(work) }

    mutating func takeFirst() -> (() -> Void)? {
        guard first < line.count else { return nil }
        let work = line[first]
        line[first] = nil
        first += 1
        if isEmpty || first >= RoomWaiters.mostFree && 2 * first > line.count {
            line.removeFirst(first)
            first = 0
        }
        return work
    }
}
