extension Array {
    /// Takes out the first of those who stand in a line, which mostly is the only one: then there is nothing to be moved up. There has to be
    /// one.
    @inlinable
    public mutating func takeFirst() -> Element {
        count == 1 ? removeLast() : removeFirst()
    }
}
