/// The members of an object, in order and with repeated names. Valid as long as the view they come from.
public struct JSONMembers: Sequence {
    let container: JSONView

    /// How many there are.
    public var count: Int { container.count }

    public var underestimatedCount: Int { count }

    public func makeIterator() -> Iterator {
        // A container of another kind has no members to go through: what is not an object is empty.
        let count = container.kind == .object ? container.count : 0
        return Iterator(container: container, place: container.firstInside, remaining: count)
    }

    /// Goes from one member to the next, past all that is inside it.
    public struct Iterator: IteratorProtocol {
        let container: JSONView
        var place: UInt32
        var remaining: Int

        public mutating func next() -> (key: JSONView, value: JSONView)? {
            guard remaining > 0 else { return nil }
            let key = container.at(place)
            let value = container.at(key.next)
            place = value.next
            remaining -= 1
            return (key, value)
        }
    }
}
