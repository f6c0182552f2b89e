import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Built-in transformations")
struct EditingTransformerTests {
    private func edit(_ json: String, _ edits: [EventEdit]) throws -> (
        event: EventDocument, faults: [TransformationFault]
    ) {
        let event = try #require(EventDocument(json: Array(json.utf8)))
        return EditingTransformer(edits) { "#" + String(decoding: $0, as: UTF8.self) }.edit(event, EventLimits())
    }

    /// Returns the `data` of an event after the edits, as JSON text.
    private func edited(_ data: String, _ edits: EventEdit...) throws -> String {
        let result = try edit(#"{"event":"order","context":{},"data":\#(data)}"#, edits)
        #expect(result.faults == [])
        return String(decoding: result.event.json(of: .data) ?? [], as: UTF8.self)
    }

    private func rename(_ pairs: (EventPath, EventPath)...) -> EventEdit {
        .rename(pairs.map { EventEdit.Renaming(from: $0.0, to: $0.1) })
    }

    @Test("P4: renames are applied at once, and missing members are skipped")
    func renames() throws {
        let swap = rename(("a", "b"), ("b", "a"), ("c", "d"))
        #expect(try edited(#"{"a":1,"b":2,"x":3}"#, swap) == #"{"a":2,"b":1,"x":3}"#)
        #expect(try edited(#"{"a":1}"#, rename(("a", "a.b"))) == #"{"a":{"b":1}}"#)
        #expect(try edited(#"{"a":1}"#, rename(("a", "a"))) == #"{"a":1}"#)
        #expect(try edited(#"{"a":1,"b":2}"#, rename(("a", "b"))) == #"{"b":1}"#)
        #expect(try edited(#"{"a":{"b":1,"c":2}}"#, rename(("a", "x"), ("a.b", "y"))) == #"{"x":{"c":2},"y":1}"#)
    }

    @Test("P4: all paths of a transformation refer to the original event, including array elements")
    func arrays() throws {
        let list = #"{"l":["A","B","C","D"]}"#
        #expect(try edited(list, .remove("l.0"), .remove("l.1")) == #"{"l":["C","D"]}"#)
        #expect(try edited(list, .remove("l.3"), .remove("l.0")) == #"{"l":["B","C"]}"#)
        #expect(try edited(list, rename(("l.0", "a"), ("l.2", "c"))) == #"{"l":["B","D"],"a":"A","c":"C"}"#)
        #expect(try edited(list, rename(("l.0", "l.1"), ("l.1", "l.0"))) == #"{"l":["B","A","C","D"]}"#)
        #expect(
            try edited(list, rename(("l.0", "first")), .set("l.1", 7), .hash("l.2"), .remove("l.3"))
                == ##"{"l":[7,"#C"],"first":"A"}"##)
    }

    @Test("P4: strings are hashed by their bytes, and other values by their JSON")
    func hashes() throws {
        let data = #"{"s":"é\"","n":1.50,"o":{"b":[1,null], "a":"x"},"z":null}"#
        let hashed = try edited(data, .hash("s"), .hash("n"), .hash("o"), .hash("z"), .hash("none"))
        #expect(hashed == ##"{"s":"#é\"","n":"#1.50","o":"#{\"b\":[1,null],\"a\":\"x\"}","z":"#null"}"##)
    }

    @Test("P4: edits are applied by kind, and renamed or set members may be hashed and removed")
    func order() throws {
        #expect(
            try edited(
                #"{"mail":"m","x":1}"#, .remove("user.kind"), .hash("user.mail"), .set("user.kind", "new"),
                rename(("mail", "user.mail"))) == ##"{"x":1,"user":{"mail":"#m"}}"##)
    }

    @Test("P4: a moved member is hashed or removed once, at its new path")
    func moved() throws {
        let data = #"{"a":"m","b":{"c":"n","d":"o"}}"#
        #expect(try edited(data, rename(("a", "x")), .hash("a")) == ##"{"b":{"c":"n","d":"o"},"x":"#m"}"##)
        #expect(try edited(data, rename(("a", "x")), .hash("a"), .hash("x")) == ##"{"b":{"c":"n","d":"o"},"x":"#m"}"##)
        #expect(try edited(data, rename(("a", "x")), .remove("a")) == #"{"b":{"c":"n","d":"o"}}"#)
        #expect(try edited(data, rename(("b", "x")), .remove("b.c"), .hash("b.d")) == ##"{"a":"m","x":{"d":"#o"}}"##)
        // A member moved out of an object is kept when the object is removed.
        #expect(try edited(data, rename(("b.c", "c")), .remove("b")) == #"{"a":"m","c":"n"}"#)
    }

    @Test("P4: a failed edit does not prevent the others, and members to remove are removed")
    func faults() throws {
        let json = #"{"event":"order","context":{},"data":{"a":1,"b":2,"mail":"m","ip":"1.2.3.4"}}"#
        let result = try edit(
            json,
            [
                rename(("b", "a.c"), ("a", "x")), .set("mail.domain", "x"), .set("event", ""), .set("id", "x"),
                .hash("mail"), .remove("ip"),
            ])
        #expect(result.faults == [.noPath, .notAnEvent, .cannotBeChanged(.id)])
        #expect(result.event["x"] == 1 && result.event["a"] == ["c": 2])
        #expect(result.event["mail"] == "#m" && result.event["ip"] == nil && result.event.event == "order")
        // A member that cannot be moved stays where it was.
        let back = try edit(json, [rename(("b", "mail.c")), .remove("ip")])
        #expect(back.faults == [.noPath] && back.event["b"] == 2 && back.event["ip"] == nil)
    }

    @Test("P4: transformed events must satisfy the limits of incoming events")
    func limits() throws {
        let long = String(repeating: "k", count: 1025)
        let json = #"{"event":"order","context":{},"data":{"a":"\#(long)","b":{"c":[1]},"d":"ok"}}"#
        let path = EventPath(Array(repeating: "x", count: 62).joined(separator: "."))
        let result = try edit(json, [rename(("a", "key"), ("b", path), ("d", "e"))])
        #expect(result.faults.count == 2 && result.faults.contains(.tooLarge) && result.faults.contains(.tooDeep))
        #expect(result.event.key == nil && result.event["a"] == .string(long) && result.event["b"] == ["c": [1]])
        #expect(result.event["e"] == "ok")
        let named = try edit(json, [rename(("a", "event"))])
        #expect(named.faults == [.tooLarge] && named.event.event == "order" && named.event["a"] == .string(long))
        let huge = DataItem.string(String(repeating: "x", count: 1 << 20))
        let set = try edit(json, [.set("x", huge), .remove("a")])
        #expect(set.faults == [.tooLarge] && set.event["a"] == nil && set.event["x"] == nil)
    }

    @Test("P6: untouched parts keep their bytes: unpaired surrogates, duplicate members, escapes and numbers")
    func untouchedBytes() throws {
        let data =
            #"{"half":"\ud83d","n":1.50e+3,"twice":1,"twice":2,"\u0061b":"\u0041","deep":{"x":"\udc00","y":[1.0,{}]},"go":1}"#
        #expect(
            try edited(data, .remove("go"), .set("deep.y.0", true), .set("new", nil))
                == #"{"half":"\ud83d","n":1.50e+3,"twice":1,"twice":2,"\u0061b":"\u0041","deep":{"x":"\udc00","y":[true,{}]},"new":null}"#
        )
        #expect(
            try edited(#"{"a":["\ud800","\udbff"],"b":{"k":"\ud800"}}"#, .remove("a.0"), rename(("b.k", "c")))
                == #"{"a":["\udbff"],"b":{},"c":"\ud800"}"#)
    }

    @Test("P6: setting, hashing or removing a member affects all duplicates, even with other escapes")
    func doubledMembers() throws {
        let data = #"{"a":1,"b":0,"\u0061":2,"o":{"x":1},"o":{"x":2}}"#
        #expect(try edited(data, .set("a", 3)) == #"{"a":3,"b":0,"o":{"x":1},"o":{"x":2}}"#)
        #expect(try edited(data, .remove("a")) == #"{"b":0,"o":{"x":1},"o":{"x":2}}"#)
        #expect(try edited(data, rename(("a", "c"))) == #"{"b":0,"o":{"x":1},"o":{"x":2},"c":2}"#)
        #expect(try edited(data, .hash("o.x")) == ##"{"a":1,"b":0,"\u0061":2,"o":{"x":"#1"},"o":{"x":"#2"}}"##)
        #expect(try edited(data, .remove("o.x"), .remove("a")) == #"{"b":0,"o":{},"o":{}}"#)
    }

    @Test("P6: names are compared by their bytes")
    func names() throws {
        let data = "{\"caf\u{E9}\":1,\"cafe\u{301}\":2}"
        #expect(try edited(data, .remove("caf\u{E9}")) == "{\"cafe\u{301}\":2}")
    }

    @Test("P4: used directly, the transformer throws the first error")
    func throwing() {
        let transformer = EditingTransformer([.set("a.b", 1)]) { _ in "" }
        let event = EventDocument(members: ["event": "order", "context": [:], "data": ["a": 1]])
        #expect(throws: TransformationFault.noPath) { try transformer.transform(event, dispatcher: nil) }
    }
}
