import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateClient

@Suite struct EventTextTests {
    @Test(
        "P6: an event given as text is sent unchanged, with an id if it has none",
        arguments: [
            (#" {"event":"x","id":"own","data":{"n":1.10}} "#, #"{"event":"x","id":"own","data":{"n":1.10}}"#),
            (#"{"event" : "x", "n":1e400}"#, #"{"id":"made","event" : "x", "n":1e400}"#),
            ("{}", #"{"id":"made"}"#),
        ])
    func text(line: String, sent: String) throws {
        let event = try EventText(of: line)
        var writer = JSONWriter()
        event.write(into: &writer) { "made" }
        #expect(writer.text == sent)
    }

    @Test("An event must be a JSON object")
    func faults() {
        #expect(throws: EventText.Fault.unreadable(.notJSON)) { try EventText(of: "no json") }
        #expect(throws: EventText.Fault.noObject) { try EventText(of: "[]") }
        #expect(throws: EventText.Fault.noObject) { try EventText(of: "7") }
    }
}

extension EventText {
    fileprivate init(of text: String) throws {
        try self.init(Array(text.utf8), scanner: JSONScanner())
    }
}
