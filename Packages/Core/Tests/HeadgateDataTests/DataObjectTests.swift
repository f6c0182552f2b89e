import Testing

@testable import HeadgateData

@Suite("Objects")
struct DataObjectTests {
    @Test("Literals need no wrapping, at any depth")
    func literals() {
        let object: DataObject = ["seats": 3, "price": 9.99, "ok": true, "none": nil, "tags": ["a", ["b": -1]]]
        #expect(
            DataItem.object(object).json
                == #"{"seats":3,"price":9.99,"ok":true,"none":null,"tags":["a",{"b":-1}]}"#)
    }

    @Test("P6: members keep their order when others change", arguments: [3, 16, 17, 40])
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

    @Test("P6: under random operations an object agrees with a list of members", arguments: 1...20)
    func removes(seed: Int) {
        var object = DataObject()
        var list: [DataObject.Element] = []
        var state = UInt64(seed)
        func number(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for step in 0..<400 {
            let key = "k\(number(below: 60))"
            let value = DataItem.number(DataNumber(step))
            let changed: DataItem? = step.isMultiple(of: 3) ? .none : .some(value)
            let index = list.firstIndex { $0.key == key }
            switch number(below: 4) {
            case 0:
                object[key] = nil
                if let index { list.remove(at: index) }
            case 1:
                let old = object.change(key) { member in
                    defer { member = changed }
                    return member
                }
                #expect(old == index.map { list[$0].value })
                switch (index, changed) {
                case (let index?, nil): list.remove(at: index)
                case (let index?, let value?): list[index].value = value
                case (nil, let value?): list.append((key, value))
                case (nil, nil): break
                }
            default:
                object[key] = value
                if let index { list[index].value = value } else { list.append((key, value)) }
            }
            #expect(object.count == list.count && object.isEmpty == list.isEmpty)
            #expect(object.keys == list.map(\.key))
            #expect(object.map(\.value) == list.map(\.value))
            #expect(object[key] == list.first { $0.key == key }?.value)
        }
    }

    @Test("P6: a change that fails leaves the member as it is")
    func failedChange() {
        struct Fault: Error {}
        var object: DataObject = ["a": 1, "b": 2]
        #expect(throws: Fault.self) { try object.change("a") { (_: inout DataItem?) throws(Fault) in throw Fault() } }
        #expect(object.keys == ["a", "b"] && object["a"] == 1)
    }

    @Test("Of duplicate members the last value counts, at the position of the first")
    func mergesRepeated() {
        let object: DataObject = ["a": 1, "b": 2, "a": 3]
        #expect(object.map(\.key) == ["a", "b"])
        #expect(object["a"] == 3)
        #expect(DataItem.object(object) == ["b": 2, "a": 3])
    }

    @Test("P6: names with different bytes are different members", arguments: [0, 40])
    func distinguishesNamesByBytes(others: Int) {
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

    @Test("Finding a member of a large object does not scan the others")
    func staysFast() {
        var object = DataObject()
        for index in 0..<100_000 { object["key\(index)"] = .null }
        #expect(object.count == 100_000)
        #expect(object["key99999"] == .null)
        // This would take minutes if each removal searched all members.
        for index in 0..<99_999 { object["key\(index)"] = nil }
        #expect(object.keys == ["key99999"])
    }

    @Test("Values are converted by their type")
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

    @Test("The leaf paths name each value that is not an object with members, in order")
    func leafPaths() {
        let object: DataObject = ["b": ["c": 1, "d": ["e": .null]], "a": [:], "f": [1, ["g": 2]]]
        #expect(object.leafPaths == ["b.c", "b.d.e", "a", "f"])
        #expect(DataObject().leafPaths.isEmpty)
    }
}
