/// A binary search over indices.
public enum BinarySearch {
    /// Returns the first index of a range for which the condition is true, or the upper bound if there is none.
    /// - Parameter condition: is false for all indices before the result, and true for all from it on. It is inlined,
    ///   because searches are on the path of every event.
    @inlinable
    @inline(__always)
    public static func first(in range: Range<Int>, where condition: (Int) -> Bool) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = (low + high) / 2
            if condition(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
