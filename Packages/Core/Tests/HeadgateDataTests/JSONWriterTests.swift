import Foundation
import Testing

@testable import HeadgateData

@Suite("Writing JSON")
struct JSONWriterTests {
    @Test(
        "Strings are escaped only where JSON requires it",
        arguments: [
            ("", #""""#), ("plain", #""plain""#), (#"a"b\c/d"#, #""a\"b\\c/d""#),
            ("\u{8}\t\n\u{c}\r", #""\b\t\n\f\r""#),
            ("\0\u{1}\u{f}\u{10}\u{1f}\u{7f}", "\"\\u0000\\u0001\\u000f\\u0010\\u001f\u{7f}\""),
            ("é😀\u{2028}", "\"é😀\u{2028}\""),
        ])
    func escapes(text: String, written: String) {
        #expect(write { $0.string(text) } == written)
    }

    @Test("An escape is found at every position of a string")
    func escapesAnywhere() throws {
        for byte in UInt8(0)...127 {
            for length in 0..<20 {
                for escaped in 0...length {
                    var text: [UInt8] = []
                    for index in 0..<length { text.append(index == escaped ? byte : 0x61) }
                    let written = Data(write { writer in text.withUnsafeBytes { writer.string(utf8: $0) } }.utf8)
                    let read = try JSONSerialization.jsonObject(with: written, options: .fragmentsAllowed)
                    #expect(read as? String == String(decoding: text, as: UTF8.self))
                }
            }
        }
    }

    @Test("Whole numbers of every width are written in decimal")
    func integers() {
        #expect(write { $0.integer(0) } == "0")
        #expect(write { $0.integer(Int64.min) } == "-9223372036854775808")
        #expect(write { $0.integer(Int64.max) } == "9223372036854775807")
        #expect(write { $0.integer(UInt64.max) } == "18446744073709551615")
        #expect(write { $0.integer(Int8.min) } == "-128")
        #expect(write { $0.integer(UInt8(7)) } == "7")
        #expect(write { $0.integer(Int128.min) } == "-170141183460469231731687303715884105728")
        for power in 0..<19 {
            #expect(write { $0.integer(-Int(pow(10, Double(power)))) } == "-1" + String(repeating: "0", count: power))
        }
    }

    @Test("Commas stand between members and elements, at every depth")
    func structure() {
        let text = write { writer in
            writer.beginObject()
            writer.member("a", 1)
            writer.member("b")
            writer.beginArray()
            for _ in 0..<2 {
                writer.element()
                writer.beginObject()
                writer.endObject()
            }
            writer.element()
            writer.beginArray()
            writer.endArray()
            writer.element()
            writer.null()
            writer.endArray()
            writer.member(key: "c\"")
            writer.beginObject()
            writer.member("d", "x")
            writer.member("e", true)
            writer.endObject()
            writer.member("f", Timestamp(milliseconds: 0))
            writer.member("g", item: [1, nil])
            writer.endObject()
        }
        #expect(
            text == #"{"a":1,"b":[{},{},[],null],"c\"":{"d":"x","e":true},"f":"1970-01-01T00:00:00.000Z","g":[1,null]}"#
        )
    }

    @Test("Bytes are appended unchanged, and a reset empties the writer")
    func raws() {
        var writer = JSONWriter(capacity: 100)
        writer.beginObject()
        writer.member("é")
        writer.raw([0x31])
        Array("2".utf8).withUnsafeBytes { writer.raw($0) }
        writer.raw(byte: 0x33)
        writer.raw(verbatim: "4")
        writer.endObject()
        #expect(writer.text == #"{"é":1234}"#)
        writer.reset()
        writer.element()
        #expect(writer.bytes.isEmpty)
    }

    @Test("P6: numbers keep their text, and members their order")
    func items() {
        let item: DataItem = [
            "z": [1, -2.5, true, false, nil], "a": ["x": "y\n"], "n": .number(DataNumber(unchecked: "1.500E+999")),
            "": [:],
        ]
        #expect(item.json == #"{"z":[1,-2.5,true,false,null],"a":{"x":"y\n"},"n":1.500E+999,"":{}}"#)
    }

    private func write(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return writer.text
    }
}
