import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Events in transformation")
struct EventDocumentTests {
    static let members: DataObject = [
        "id": "e1", "seq": 7, "event": "order", "time": "2026-01-01T00:00:00.000Z", "context": ["uid": 1000],
        "data": ["user": ["id": 5, "email": "a@b"], "items": [["price": 1], "x"], "plan": "pro", "z": nil],
    ]
    let event = EventDocument(members: members)

    @Test("P4: the name, the key, the data and the context can be changed")
    func changes() {
        var event = event
        #expect(event.id == "e1" && event.sequenceNumber == 7 && event.time == "2026-01-01T00:00:00.000Z")
        #expect(event.event == "order" && event.key == nil && !event.isTouched)
        event.event = "visit"
        event.key = "k"
        event.data["plan"] = nil
        event.context = ["a": 1]
        #expect(event.isTouched && event.isSound)
        #expect(event.event == "visit" && event.key == "k" && event.context == ["a": 1])
        #expect(event.data.keys == ["user", "items", "z"])
        event.key = nil
        #expect(event.key == nil && event.isSound)
    }

    @Test("P4: a value is set at its path, creating objects, and in arrays")
    func sets() throws {
        var event = event
        try event.set("x", at: "data.a.b.c")
        try event.set(2, at: "items.0.price")
        try event.set(.null, at: "data.user.email")
        try event.set("visit", at: "event")
        try event.set(["n": 1], at: "context")
        #expect(event["a"] == ["b": ["c": "x"]])
        #expect(event["items"] == [["price": 2], "x"])
        #expect(event["user"] == ["id": 5, "email": nil])
        #expect(event.event == "visit" && event.context == ["n": 1])
        #expect(event.data.keys == ["user", "items", "plan", "z", "a"])
    }

    @Test(
        "P4: a path through a value that is not an object has no target",
        arguments: ["plan.x", "items.2", "items.x", "items.-1.a", "z.x", "event.x", "user.id.x"] as [EventPath])
    func noPath(path: EventPath) {
        var event = event
        #expect(throws: TransformationFault.noPath) { try event.set(1, at: path) }
        #expect(!event.isTouched)
    }

    @Test(
        "P4: id, sequence number and times cannot be changed",
        arguments: ["id", "seq", "time", "received_at", "attempt", "id.x"])
    func protected(path: String) {
        var event = event
        let path = EventPath(path)
        #expect(throws: TransformationFault.cannotBeChanged(path.member)) { try event.set("x", at: path) }
        #expect(throws: TransformationFault.cannotBeChanged(path.member)) { try event.remove(at: path) }
        #expect(!event.isTouched)
    }

    @Test("P4: removing returns the value, and removing a missing value has no effect")
    func removes() throws {
        var event = event
        for path in ["data.none", "user.none.x", "plan.x", "items.5", "key", "items.1.x"] as [EventPath] {
            #expect(try event.remove(at: path) == nil)
        }
        #expect(!event.isTouched)
        #expect(try event.remove(at: "user.email") == "a@b")
        #expect(try event.remove(at: "items.0") == ["price": 1])
        #expect(try event.remove(at: "data.z") == .null)
        #expect(event.data == ["user": ["id": 5], "items": ["x"], "plan": "pro"])
        #expect(try event.remove(at: "data") == ["user": ["id": 5], "items": ["x"], "plan": "pro"])
        #expect(event.data.isEmpty && event.isSound)
        #expect(throws: TransformationFault.cannotBeChanged(.event)) { try event.remove(at: "event") }
    }

    @Test("P4: an event without a name, with an empty key or without data and context cannot be delivered")
    func soundness() throws {
        for (path, value) in [("event", ""), ("event", 5), ("key", ""), ("key", nil), ("data", "x"), ("context", [])]
            as [(EventPath, DataItem)]
        {
            var event = event
            try event.set(value, at: path)
            #expect(!event.isSound, "\(path)")
        }
        #expect(event.isSound)
    }

    @Test("P6: unchanged values keep their bytes")
    func assignments() throws {
        let data = #"{"half":"\ud83d","n":1.50,"twice":1,"twice":2,"list":["\u0041",{"x":1,"y":"\udc00"},3],"go":1}"#
        let json = #"{"id":"\ud800","event":"\u0061","time":"t","context":{},"data":\#(data)}"#
        var event = try #require(EventDocument(json: Array(json.utf8)))
        #expect(String(decoding: event.json, as: UTF8.self) == json)
        event.data["go"] = nil
        event.data["new"] = [1]
        event.data["list"] = ["A", ["x": 2, "y": "\u{FFFD}"], 3]
        event.context["a"] = 1
        #expect(
            String(decoding: event.json, as: UTF8.self)
                == #"{"id":"\ud800","event":"\u0061","time":"t","context":{"a":1},"#
                + #""data":{"half":"\ud83d","n":1.50,"twice":1,"twice":2,"#
                + #""list":["\u0041",{"x":2,"y":"\udc00"},3],"new":[1]}}"#)
        event.data["list"] = [["x": 2, "y": "\u{FFFD}"], 3]
        #expect(
            String(decoding: event.json(of: .data) ?? [], as: UTF8.self).contains(#""list":[{"x":2,"y":"\udc00"},3]"#))
    }
}
