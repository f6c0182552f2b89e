/// The search for the known name that is closest to a mistyped one.
public enum ClosestName {
    /// Returns the known name with the smallest edit distance (insert, delete, replace, swap), or nil if `known` is
    /// empty. Of equally close names it returns the first in alphabetical order.
    public static func of(_ name: String, among known: some Sequence<String>) -> String? {
        known.map { (distance: distance(name, $0), name: $0) }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
    }

    /// Returns the edit distance of two names (optimal string alignment). A name that is a prefix of the other has
    /// distance 1, because people abbreviate.
    private static func distance(_ one: String, _ other: String) -> Int {
        // Long names are cut: they come from settings of any length, and the cost grows with the product of both
        // lengths.
        let (one, other) = (Array(one.utf8.prefix(longest)), Array(other.utf8.prefix(longest)))
        if !one.isEmpty, other.starts(with: one) || one.starts(with: other) { return 1 }
        var rows = [Array(0...other.count)]
        for (row, character) in one.enumerated() {
            var line = [row + 1]
            for (column, candidate) in other.enumerated() {
                var best = min(rows[row][column + 1], line[column]) + 1
                best = min(best, rows[row][column] + (character == candidate ? 0 : 1))
                if row > 0, column > 0, character == other[column - 1], one[row - 1] == candidate {
                    best = min(best, rows[row - 1][column - 1] + 1)
                }
                line.append(best)
            }
            rows.append(line)
        }
        return rows[one.count][other.count]
    }

    private static let longest = 64
}
