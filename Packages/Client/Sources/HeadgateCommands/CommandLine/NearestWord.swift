/// Finds what somebody may have meant.
enum NearestWord {
    /// The candidate that takes the fewest changes to become `word`; nil if none is near.
    static func to(_ word: String, among candidates: [String]) -> String? {
        let distances = candidates.map { (distance(word, $0), $0) }
        guard let (distance, nearest) = distances.min(by: { $0.0 < $1.0 }) else { return nil }
        return distance <= max(2, word.count / 2) ? nearest : nil
    }

    /// `did you mean X?`, or nothing.
    static func hint(for word: String, among candidates: [String]) -> String {
        to(word, among: candidates).map { "; did you mean \($0)?" } ?? ""
    }

    /// How many characters to insert, remove or replace (Levenshtein distance).
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var above = Array(0...right.count)
        for (row, character) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                let replaced = above[column] + (character == other ? 0 : 1)
                current.append(min(replaced, above[column + 1] + 1, current[column] + 1))
            }
            above = current
        }
        return above[right.count]
    }
}
