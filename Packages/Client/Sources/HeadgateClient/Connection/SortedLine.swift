import HeadgateData

/// A sorted array whose elements are mostly added at the end and removed from the front.
struct SortedLine<Element: Comparable> {
    private var elements: [Element]
    /// The number of elements at the front of the array that were removed.
    private var taken = 0

    private static var toleratedWaste: Int { 64 }

    /// Creates a line of elements that are in order.
    init(sorted elements: [Element] = []) {
        self.elements = elements
    }

    var isEmpty: Bool { taken == elements.count }

    var first: Element? { isEmpty ? nil : elements[taken] }

    mutating func insert(_ element: Element) {
        guard let last = elements.last, taken < elements.count, last >= element else { return elements.append(element) }
        elements.insert(element, at: index(of: element))
    }

    mutating func removeFirst() {
        taken += 1
        guard taken > SortedLine.toleratedWaste, taken * 2 > elements.count else { return }
        elements.removeFirst(taken)
        taken = 0
    }

    /// Removes an element if it is there.
    mutating func remove(_ element: Element) {
        if first == element { return removeFirst() }
        let index = index(of: element)
        guard index < elements.count, elements[index] == element else { return }
        elements.remove(at: index)
    }

    /// Removes all elements for which the function returns true.
    mutating func removeAll(where shouldBeRemoved: (Element) -> Bool) {
        elements.removeFirst(taken)
        taken = 0
        elements.removeAll(where: shouldBeRemoved)
    }

    /// Returns the index of the first element that is not less than `element`.
    private func index(of element: Element) -> Int {
        BinarySearch.first(in: taken..<elements.count) { elements[$0] >= element }
    }
}
