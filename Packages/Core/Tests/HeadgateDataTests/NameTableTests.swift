import HeadgateData
import Testing

@Suite("Names compared by their bytes")
struct NameTableTests {
    private let one = "caf\u{E9}"
    private let two = "cafe\u{301}"

    @Test("Names with different bytes are different")
    func lookalikes() {
        #expect(one == two)
        #expect(ExactName(one) != ExactName(two))
        var table = NameTable<Int>()
        table[one] = 1
        table[two, default: 5] += 1
        #expect(table[one] == 1 && table[two] == 6 && table.count == 2)
        #expect(Set(table.keys.map { Array($0.utf8) }) == [Array(one.utf8), Array(two.utf8)])
        let taken = table.removeValue(forKey: one)
        #expect(taken == 1)
        #expect(table[one] == nil && table[two] == 6)
        var names = NameSet()
        let isNew = [names.insert(one), names.insert(one)]
        #expect(isNew == [true, false])
        #expect(!names.contains(two))
        names.remove(two)
        #expect(names.count == 1 && names.map(\.self) == [one])
    }

    @Test("A merged table has the names of both tables, and the second table's value of a common name")
    func merging() {
        let (left, right): (NameTable<Int>, NameTable<Int>) = ([one: 1, "a": 1], [two: 2, "a": 2])
        #expect(left.merging(right) == [one: 1, two: 2, "a": 2])
    }

    @Test("Values of JSON are compared by their bytes, strings and names of members")
    func items() {
        #expect(DataItem.string(one) != .string(two) && DataItem.array([.string(one)]) != .array([.string(two)]))
        #expect(DataItem.object([one: 1]) != .object([two: 1]) && DataItem.string(one) == .string(one))
    }
}
