/// Those who wait for room in the group in the making, in the order in which they came. There may be thousands of them.
struct SenderLine {
    private var line: [(() -> Void)?] = []
    /// Those before it have been called.
    private var first = 0

    /// With so many places that are free, and more than are taken, those behind move up.
    private static let mostFree = 256

    var isEmpty: Bool { first == line.count }

    mutating func add(_ work: @escaping () -> Void) { line.append(work) }

    mutating func takeFirst() -> (() -> Void)? {
        guard first < line.count else { return nil }
        let work = line[first]
        line[first] = nil
        first += 1
        if isEmpty || first >= SenderLine.mostFree && 2 * first > line.count {
            line.removeFirst(first)
            first = 0
        }
        return work
    }
}
