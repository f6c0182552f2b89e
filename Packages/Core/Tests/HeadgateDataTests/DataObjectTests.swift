import Testing

@testable import HeadgateData

@Suite("Objects")
struct DataObjectTests {
    @Test("P6: members keep their order, whatever happens to the others", arguments: [3, 16, 17, 40])
    func keepsOrder(count: Int) {
        var object = DataObject()
        let keys = (0..<count).map { "k\($0 * 7 % count)-\($0)" }
        for (index, key) in keys.enumerated() { object[key] = .number(DataNumber(index)) }
        #expect(object.keys == keys)
        object[keys[1]] = "changed"
        #expect(object.keys == keys)
        object[keys[0]] = nil
        object["absent"] = nil
        object["last"] = true
        #expect(object.keys == Array(keys.dropFirst()) + ["last"])
        #expect(object[keys[0]] == nil)
        #expect(object[keys[1]] == "changed")
        #expect(object.get(key: keys[count - 1]) == (count == 2 ? nil : count - 1))
        #expect(object.count == count && !object.isEmpty)
    }

    @Test("Of members with one name the last counts, in the place of the first")
    func mergesRepeated() {
        let object: DataObject = ["a": 1, "b": 2, "a": 3]
        #expect(object.map(\.key) == ["a", "b"])
        #expect(object["a"] == 3)
        #expect(DataItem.object(object) == ["b": 2, "a": 3])
    }

    @Test("P6: names that look alike but differ in their bytes are two members", arguments: [0, 40])
    func tellsNamesApartByBytes(others: Int) {
        var object = DataObject((0..<others).map { ("k\($0)", .null) })
        object["é"] = 1
        object["e\u{301}"] = 2
        #expect(object.count == others + 2)
        #expect(object["é"] == 1 && object["e\u{301}"] == 2)
        #expect(["é": 1] as DataObject != ["e\u{301}": 1])
        object["é"] = nil
        #expect(object["é"] == nil && object["e\u{301}"] == 2)
    }

    @Test("Objects are equal when their members are, in any order")
    func compares() {
        #expect(["a": 1, "b": [2]] as DataObject == ["b": [2], "a": 1])
        #expect(["a": 1] as DataObject != ["a": 1, "b": nil])
        #expect(["a": 1] as DataObject != ["b": 1])
        #expect(["a": 1] as DataObject != ["a": 1.0])
    }

    @Test("A member of a large object is found without looking at the others")
    func staysFast() {
        var object = DataObject()
        for index in 0..<100_000 { object["key\(index)"] = .null }
        #expect(object.count == 100_000)
        #expect(object["key99999"] == .null)
    }

    @Test("Values are read as what they are")
    func converts() {
        let object: DataObject = [
            "s": "x", "i": 7, "d": 1.5, "b": true, "n": nil, "a": [1, "x", 2], "o": ["k": [1, 2]], "w": 7.0,
        ]
        #expect(object.get(key: "s") == "x")
        #expect(object.get(key: "i") == 7)
        #expect(object.get(key: "i") == 7.0)
        #expect(object.get(key: "w", as: Int.self) == 7)
        #expect(object.get(key: "d", as: Int.self) == nil)
        #expect(object.get(key: "d") == 1.5)
        #expect(object.get(key: "b") == true)
        #expect(object.get(key: "s", as: Bool.self) == nil)
        #expect(object.get(key: "i", as: String.self) == nil)
        #expect(object.get(key: "n", as: String.self) == nil)
        #expect(object["n"] == .null)
        #expect(object["n"]?.isNull == true)
        #expect(object.get(key: "absent", as: DataItem.self) == nil)
        #expect(object.getArray(key: "a", of: Int.self) == [1, nil, 2])
        #expect(object.getArray(key: "s", of: Int.self) == nil)
        #expect(object.get(key: "a", as: [Int].self) == nil)
        #expect(object.get(key: "o", as: DataObject.self)?.get(key: "k") == [1, 2])
        #expect(DataItem.number(DataNumber(5)).get() == 5)
    }
}
