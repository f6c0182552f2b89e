import HeadgateData
import Testing

@testable import HeadgateCommands

@Suite struct InputLinesTests {
    private let text = "one\n\n  \r\ntwo\r\n\nthree\nvery long line\nlast"

    @Test("Lines have their numbers, blank ones counted, wherever the pieces are cut", arguments: 1...50)
    func pieces(size: Int) {
        var lines = InputLines(longest: 8)
        var found: [String] = []
        func collect() {
            while let line = lines.next() {
                found.append("\(line.number) \(line.bytes.map { String(decoding: $0, as: UTF8.self) } ?? "too long")")
            }
        }
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines.append(Array(bytes[start..<min(start + size, bytes.count)]))
            collect()
        }
        #expect(!found.contains { $0.hasPrefix("8") })
        lines.append([])
        collect()
        #expect(found == ["1 one", "4 two\r", "6 three", "7 too long", "8 last"])
        #expect(lines.isAtEnd)
    }

    @Test("A long line at the very end is told, too, and empty input has no lines")
    func ends() {
        var lines = InputLines(longest: 3)
        lines.append(Array("abcdef".utf8))
        #expect(lines.next() == nil)
        lines.append([])
        #expect(lines.next() == InputLines.Line(number: 1, bytes: nil))
        #expect(lines.next() == nil)
        var none = InputLines()
        none.append([])
        #expect(none.next() == nil)
    }
}

@Suite struct EventDataTests {
    @Test(
        "P6: a value that is JSON is taken as that, with all its digits; the rest is text",
        arguments: [
            ("n=1.10", #"{"n":1.10}"#), ("n=-3e400", #"{"n":-3e400}"#), ("b=true", #"{"b":true}"#),
            ("b=null", #"{"b":null}"#), (#"o={"a":[1]}"#, #"{"o":{"a":[1]}}"#), ("t=pro", #"{"t":"pro"}"#),
            ("t=", #"{"t":""}"#), ("t=a=b c", #"{"t":"a=b c"}"#), ("t=007", #"{"t":"007"}"#),
            (#"t="5""#, #"{"t":"5"}"#), ("t={broken", #"{"t":"{broken"}"#),
        ])
    func values(pair: String, json: String) throws {
        #expect(DataItem.object(try EventData.parse([pair])).json == json)
    }

    @Test("Pairs keep their order; of several with one key the last counts")
    func order() throws {
        let data = try EventData.parse(["b=1", "a=2", "b=3"])
        #expect(DataItem.object(data).json == #"{"b":3,"a":2}"#)
    }

    @Test("What is no pair is wrong usage", arguments: ["plan", "=x", ""])
    func noPair(text: String) {
        #expect(throws: UsageError(message: "send: \(text) is not KEY=VALUE", command: "send")) {
            try EventData.parse([text])
        }
    }
}
