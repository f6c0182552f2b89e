/// The elements of an array, in order. Valid as long as the view they come from.
public struct JSONElements: Sequence {
    let container: JSONView

    /// How many there are.
    public var count: Int { container.count }

    public var underestimatedCount: Int { count }

    public func makeIterator() -> Iterator {
        Iterator(container: container, place: container.firstInside, remaining: container.count)
    }

    /// Goes from one element to the next, past all that is inside it.
    public struct Iterator: IteratorProtocol {
        let container: JSONView
        var place: UInt32
        var remaining: Int

        public mutating func next() -> JSONView? {
            guard remaining > 0 else { return nil }
            let element = container.at(place)
            place = element.next
            remaining -= 1
            return element
        }
    }
}
