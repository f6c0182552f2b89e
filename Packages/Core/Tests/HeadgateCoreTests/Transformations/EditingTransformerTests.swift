import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Built-in transformations")
struct EditingTransformerTests {
    private func edited(_ data: DataObject, _ edits: EventEdit...) throws -> DataObject? {
        let event = EventDocument(members: ["event": "order", "context": [:], "data": .object(data)])
        let transformer = EditingTransformer(edits) { "#" + String(decoding: $0, as: UTF8.self) }
        return try transformer.transform(event, dispatcher: nil)?.data
    }

    @Test("P4: names are changed all at once, and what is not there is passed over")
    func renames() throws {
        let swap = EventEdit.rename([.init(from: "a", to: "b"), .init(from: "b", to: "a"), .init(from: "c", to: "d")])
        #expect(try edited(["a": 1, "b": 2, "x": 3], swap) == ["x": 3, "b": 1, "a": 2])
        #expect(try edited(["a": 1], .rename([.init(from: "a", to: "a.b")])) == ["a": ["b": 1]])
        #expect(try edited(["a": 1], .rename([.init(from: "a", to: "a")])) == ["a": 1])
        #expect(try edited(["a": 1, "b": 2], .rename([.init(from: "a", to: "b")])) == ["b": 1])
    }

    @Test("P4: a string's own bytes are hashed, and the JSON of anything else")
    func hashes() throws {
        let data: DataObject = ["s": "é\"", "n": 1.50, "o": ["b": [1, nil], "a": "x"], "z": nil]
        let hashed = try edited(data, .hash("s"), .hash("n"), .hash("o"), .hash("z"), .hash("none"))
        #expect(hashed == ["s": "#é\"", "n": "#1.5", "o": "#{\"b\":[1,null],\"a\":\"x\"}", "z": "#null"])
    }

    @Test("P4: edits are done in their order, each on what the one before left")
    func order() throws {
        let edits: [EventEdit] = [
            .rename([.init(from: "mail", to: "user.mail")]), .set("user.kind", "new"), .hash("user.mail"),
            .remove("user.kind"),
        ]
        #expect(
            try edited(["mail": "m", "x": 1], edits[0], edits[1], edits[2], edits[3]) == [
                "x": 1, "user": ["mail": "#m"],
            ])
    }

    @Test("P4: an edit that is not possible throws, and the event is as it was")
    func faults() {
        #expect(throws: TransformationFault.noWay) { try edited(["a": 1], .set("b", 1), .set("a.b", 1)) }
        #expect(throws: TransformationFault.noWay) {
            try edited(["a": 1, "b": 2], .rename([.init(from: "a", to: "b.c")]))
        }
        #expect(throws: TransformationFault.cannotBeChanged(.id)) { try edited([:], .set("id", "x")) }
    }
}
