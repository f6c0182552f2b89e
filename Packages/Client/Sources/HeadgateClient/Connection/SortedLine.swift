/// Things in their order, mostly appended behind and taken from the front.
struct SortedLine<Element: Comparable> {
    private var elements: [Element]
    /// How many have been taken from the front and still have their place in the array.
    private var taken = 0

    private static var toleratedWaste: Int { 64 }

    /// A line of elements that are in order already.
    init(sorted elements: [Element] = []) {
        self.elements = elements
    }

    var isEmpty: Bool { taken == elements.count }

    var first: Element? { isEmpty ? nil : elements[taken] }

    mutating func insert(_ element: Element) {
        guard let last = elements.last, taken < elements.count, last >= element else { return elements.append(element) }
        elements.insert(element, at: place(of: element))
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
        let place = place(of: element)
        guard place < elements.count, elements[place] == element else { return }
        elements.remove(at: place)
    }

    /// Removes all elements of a kind.
    mutating func removeAll(where shouldBeRemoved: (Element) -> Bool) {
        elements.removeFirst(taken)
        taken = 0
        elements.removeAll(where: shouldBeRemoved)
    }

    /// The place of the first that does not come before `element`.
    private func place(of element: Element) -> Int {
        var (low, high) = (taken, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if elements[middle] < element { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
