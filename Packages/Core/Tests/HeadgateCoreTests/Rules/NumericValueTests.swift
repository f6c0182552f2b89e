import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Numbers in conditions")
struct NumericValueTests {
    /// Numbers in ascending order; the numbers of one group are equal.
    static let scale: [[String]] = [
        ["-1e400"], ["-123456789012345678901", "-1.23456789012345678901e20"], ["-100", "-1e2"], ["-0.5", "-5E-1"],
        ["0", "-0", "0.0", "0e9", "-0.000e-5"], ["1e-400"], ["0.1", "1e-1", "0.10", "10e-2"],
        ["0.1000000000000000055511151231257827"], ["1", "1.0", "10e-1", "0.1e1"], ["1.5"], ["5", "5.00", "0.5e+1"],
        ["12"], ["100", "1e2", "100.0"], ["123"], ["9007199254740992"], ["9007199254740993", "9007199254740993.0"],
        ["9223372036854775807"], ["9223372036854775808", "9223372036854775808.0"], ["1e400", "10e399"],
        ["1e99999999999999999999", "1e99999999999999999998"],
    ]

    @Test("S5: numbers are compared by their exact value, in any notation")
    func order() {
        let all = Self.scale.enumerated().flatMap { rank, texts in texts.map { (rank, $0) } }
        for (rank, text) in all {
            for (otherRank, other) in all {
                let (left, right) = (value(text), value(other))
                #expect((left < right) == (rank < otherRank), "\(text) < \(other)")
                #expect((left == right) == (rank == otherRank), "\(text) == \(other)")
                #expect((left >= right) == (rank >= otherRank), "\(text) >= \(other)")
            }
        }
    }

    private func value(_ text: String) -> NumericValue {
        NumericValue(DataNumber(unchecked: text))
    }
}
