import HeadgateData
import HeadgateSeeds
import Testing

@Suite("Pieces of JSON text")
struct JSONOutlineTests {
    private func outline<Result>(_ text: String, _ body: (JSONOutline) -> Result) -> Result {
        Array(text.utf8).withUnsafeBytes { body(JSONOutline($0)) }
    }

    @Test("The outline agrees with a parser")
    func items() {
        let text = #" {"a":[1.50, "x\u0041\"",true,null,[],{}],"b":{"c":-1e5},"é":"\ud83d\ude00\ud83d"} "#
        let item: DataItem = [
            "a": [.number(DataNumber(unchecked: "1.50")), "xA\"", true, nil, [], [:]],
            "b": ["c": .number(DataNumber(unchecked: "-1e5"))], "é": "😀\u{FFFD}",
        ]
        outline(text) { outline in
            #expect(outline.item(outline.whole) == item)
            #expect(outline.members(of: outline.whole).map { outline.string($0.name) } == ["a", "b", "é"])
            #expect(outline.depth(of: outline.whole) == 3)
        }
    }

    @Test("Names are compared without escapes, including unpaired surrogates")
    func names() {
        outline(#"["a\u0062","ab","\ud800","\udbff","\ufffd"]"#) { outline in
            let names = outline.elements(of: outline.whole)
            #expect(names.map { outline.string($0, equals: "ab") } == [true, true, false, false, false])
            #expect(names.map { outline.string($0, equals: "\u{FFFD}") } == [false, false, false, false, true])
            #expect(outline.exactString(names[2]) != outline.exactString(names[3]))
        }
    }

    @Test("A string ends at the first quote that is not escaped", arguments: Seeds.first(200))
    func escapes(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let pieces = [#"\\"#, #"\""#, "a"]
        let strings = (0..<5).map { _ in
            let count = Int.random(in: 0...6, using: &random)
            return "\"" + (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined() + "\""
        }
        let text = "[" + strings.joined(separator: ",") + "]"
        outline(text) { outline in
            let found = outline.elements(of: outline.whole)
            #expect(found.map { String(decoding: Array(text.utf8)[$0], as: UTF8.self) } == strings)
        }
    }

    @Test("No byte outside the text is read, with any content", arguments: Seeds.first(200))
    func nonsense(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let alphabet = Array(#"{}[]",:\u0a1tfn -"#.utf8)
        let bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? 0
        }
        bytes.withUnsafeBytes { buffer in
            let outline = JSONOutline(buffer)
            _ = outline.item(outline.whole)
            _ = outline.depth(of: outline.whole)
        }
    }
}
