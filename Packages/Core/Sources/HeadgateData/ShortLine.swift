extension Array {
    /// Removes and returns the first element. If it is the only one, no element has to be moved.
    ///
    /// - Precondition: the array is not empty.
    @inlinable
    public mutating func takeFirst() -> Element {
        count == 1 ? removeLast() : removeFirst()
    }
}
