import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Canonical JSON")
struct CanonicalJSONTests {
    private func number(_ text: String) -> DataItem {
        .number(DataNumber(unchecked: text))
    }

    @Test(
        "A3: numbers of equal value are equal, in any notation",
        arguments: [
            ["1", "1.0", "1e0", "10E-1", "0.1e1"], ["0", "-0", "0.0", "0e99"], ["-12.5", "-1.25e1", "-125e-1"],
            ["9007199254740993", "9007199254740993.0"], ["1e999999999999999999999"],
        ])
    func numbers(texts: [String]) {
        #expect(Set(texts.map { CanonicalJSON(number($0)) }).count == 1)
    }

    @Test("A3: numbers of different value are different")
    func different() {
        let texts = ["1", "-1", "10", "0.1", "9007199254740993", "9007199254740992", "0"]
        #expect(Set(texts.map { CanonicalJSON(number($0)) }).count == texts.count)
    }

    @Test("A3: the order of members does not matter, the order of elements does")
    func order() {
        let one: DataItem = ["b": [1, 2], "a": ["d": nil, "c": "x"]]
        #expect(CanonicalJSON(one) == CanonicalJSON(["a": ["c": "x", "d": nil], "b": [1, 2]]))
        #expect(CanonicalJSON(one) != CanonicalJSON(["a": ["c": "x", "d": nil], "b": [2, 1]]))
    }

    @Test("A3: values of different kinds are different")
    func kinds() {
        let items: [DataItem] = [nil, false, 0, "0", [], [:], "", [[:]], ["a": nil], "null"]
        #expect(Set(items.map(CanonicalJSON.init)).count == items.count)
        #expect(CanonicalJSON("\u{E9}") != CanonicalJSON("e\u{301}"), "strings are compared by their bytes")
    }
}
