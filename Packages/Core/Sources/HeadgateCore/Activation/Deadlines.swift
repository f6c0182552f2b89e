/// A priority queue of deadlines, the earliest first. Of equal deadlines, the one that was set first comes first.
struct Deadlines<Key: Hashable> {
    private var live: [Key: Entry] = [:]
    /// A binary heap. Removed and replaced entries stay in it until they come to the top, or until there are too many.
    private var heap: [Entry] = []
    private var order = 0

    private struct Entry {
        let key: Key
        let instant: Instant
        let order: Int

        func precedes(_ other: Entry) -> Bool {
            (instant, order) < (other.instant, other.order)
        }
    }

    var isEmpty: Bool { live.isEmpty }

    /// The earliest deadline.
    var next: Instant? { heap.first?.instant }

    func contains(_ key: Key) -> Bool { live[key] != nil }

    mutating func set(_ key: Key, at instant: Instant) {
        order += 1
        let entry = Entry(key: key, instant: instant, order: order)
        live[key] = entry
        heap.append(entry)
        rise(heap.count - 1)
        tidy()
    }

    mutating func remove(_ key: Key) {
        if live.removeValue(forKey: key) != nil { tidy() }
    }

    /// Removes and returns the earliest key if it is due.
    mutating func popDue(at now: Instant) -> Key? {
        guard let next, next <= now else { return nil }
        return popFirst()
    }

    /// Removes and returns the earliest key.
    mutating func popFirst() -> Key? {
        guard let key = heap.first?.key else { return nil }
        live[key] = nil
        tidy()
        return key
    }

    /// Removes replaced entries at the top, and rebuilds the heap if there are too many of them.
    private mutating func tidy() {
        while let first = heap.first, !isLive(first) { removeFirst() }
        guard heap.count > 2 * live.count + 64 else { return }
        // A sorted array is a heap.
        heap = live.values.sorted { $0.precedes($1) }
    }

    private func isLive(_ entry: Entry) -> Bool {
        live[entry.key]?.order == entry.order
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink(0)
    }

    private mutating func rise(_ index: Int) {
        var index = index
        while index > 0, heap[index].precedes(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink(_ index: Int) {
        var index = index
        while true {
            let children = [2 * index + 1, 2 * index + 2].filter { $0 < heap.count }
            guard let least = children.min(by: { heap[$0].precedes(heap[$1]) }), heap[least].precedes(heap[index])
            else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
