import HeadgateData
import Testing

@testable import HeadgateWire

@Suite("Reading a scanned value")
struct JSONViewTests {
    @Test("Iterating elements and members skips their contents")
    func stepsOver() throws {
        try GuardedText(#"{"a":[1,[2,{"x":3}],4],"b":{"c":{}},"d":5}"#).scan { view throws in
            let members = try #require(view.members)
            #expect(members.map { $0.key.string } == ["a", "b", "d"])
            #expect(members.count == 3)
            let elements = try #require(view.member("a")?.elements)
            #expect(elements.map { String(decoding: $0.raw, as: UTF8.self) } == ["1", #"[2,{"x":3}]"#, "4"])
            #expect(view.member("b")?.member("c")?.count == 0)
            #expect(view.member("d")?.int == 5)
            #expect(view.elements == nil)
            #expect(view.member("a")?.members == nil)
            #expect(view.member("a")?.member("x") == nil)
        }
    }

    @Test("Of duplicate members the last one counts, and names are compared unescaped")
    func findsMembers() throws {
        try GuardedText(#"{"a":1,"\u0061":2,"b":{"a":3},"":4}"#).scan { view throws in
            #expect(view.member("a")?.int == 2)
            #expect(view.member("")?.int == 4)
            #expect(view.member("c") == nil)
            #expect(view.item == ["a": 2, "b": ["a": 3], "": 4])
        }
    }

    @Test(
        "Finding members together agrees with finding them one by one",
        arguments: [
            #"{"a":1,"bb":2,"ccc":3}"#, #"{"ccc":1,"\u0061":2,"cc":3,"bb":{"a":4}}"#, #"{"a":1,"a":2,"b":3,"bb":null}"#,
            #"{"":1,"c\u0063c":[{"a":1}],"bbb":2,"\ud800":3,"bb":4}"#, "{}", #"["a","bb","ccc"]"#, #""a""#, "7",
        ])
    func findsTogether(text: String) throws {
        let names = JSONNames("a", "bb", "ccc", "cc")
        try GuardedText(text).scan { view throws in
            let found = view.find(names)
            #expect(found[0]?.item == view.member("a")?.item)
            #expect(found[1]?.item == view.member("bb")?.item)
            #expect(found[2]?.item == view.member("ccc")?.item)
            #expect(found[3]?.item == view.member("cc")?.item)
            #expect(found[4] == nil)
        }
    }

    @Test("A name of any length is found among others, and not confused with its prefixes")
    func findsLong() throws {
        let long = String(repeating: "x", count: 127)
        let text = #"{"\#(long)":1,"\#(long)y":2,"\#(long)\#(long)":3,"x":4,"~":5}"#
        try GuardedText(text).scan { view throws in
            let found = view.find(
                JSONNames(
                    "x", "xx",
                    """
                    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
                    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                    """, "y"))
            #expect(found[0]?.int == 4)
            #expect(found[1] == nil)
            #expect(found[2]?.int == 1)
            #expect(found[3] == nil)
        }
    }

    @Test(
        "Names with the same first eight bytes are distinguished, and a name at the end of a text is not read beyond it"
    )
    func findsAlike() throws {
        let names = JSONNames("dispatch", "dispatchers", "dispatched", "id", "i")
        try GuardedText(#"{"dispatchers":1,"dispatch":2,"dispatchez":3,"dispatchersx":4,"dispatche\u0064":5}"#).scan {
            view in
            let found = view.find(names)
            #expect((0..<5).map { found[$0]?.int } == [2, 1, 5, nil, nil])
        }
        // A different name of the same length or with the same beginning must not match, even if the searched name is
        // missing.
        for name in [
            "dispatching", "dispatcherz", "dispatchez", "dispatchers\\u0000", "dispatchin\\u0067", "dispatcher",
        ] {
            try GuardedText(#"{"\#(name)":1}"#).scan { view in
                let found = view.find(names)
                #expect((0..<5).allSatisfy { found[$0] == nil }, "\(name)")
            }
        }
        for (text, value) in [(#"{"id":7}"#, 7), (#"{"i":7}"#, nil), (#"{"id\u0000":7}"#, nil), (#"{"":7}"#, nil)] {
            try GuardedText(text).scan { view in
                #expect(view.find(names)[3]?.int == value.map(Int64.init))
                #expect(view.find(JSONNames("id\0x", "xid"))[0] == nil)
            }
        }
    }

    @Test("Arrays and objects have the right count, whatever they contain and what follows")
    func counts() throws {
        try GuardedText(#"[[],[1,[2,3,4],{"a":[],"b":{"c":1,"d":2,"e":3}},[[[]]]],{},{"x":[0,0]},5]"#).scan { view in
            var counts: [Int] = []
            func walk(_ view: JSONView) {
                counts.append(view.count)
                if let elements = view.elements {
                    for element in elements { walk(element) }
                }
                if let members = view.members {
                    for member in members { walk(member.value) }
                }
            }
            walk(view)
            #expect(counts == [5, 0, 4, 0, 3, 0, 0, 0, 2, 0, 3, 0, 0, 0, 1, 1, 0, 0, 1, 2, 0, 0, 0])
        }
    }

    @Test(
        "Strings are unescaped, and an unpaired surrogate becomes U+FFFD",
        arguments: [
            (#""plain""#, "plain"), (#""""#, ""), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (#""a\u00e9b\u20ACc""#, "aéb€c"), (#""\uD83D\uDE00!""#, "😀!"), (#""\ud83d\ude00""#, "😀"),
            (#""\ud800""#, "\u{FFFD}"), (#""\udc00x""#, "\u{FFFD}x"), (#""\ud800\ud800\udc00""#, "\u{FFFD}\u{10000}"),
            (#""\ud800\n""#, "\u{FFFD}\n"), (#""\ud800\u0041""#, "\u{FFFD}A"), (#""\udbff\udfff""#, "\u{10FFFF}"),
            (#""\u0000""#, "\0"),
        ])
    func unescapes(source: String, expected: String) throws {
        try GuardedText(source).scan { view throws in
            #expect(view.string == expected)
            #expect((view.contents == nil) == source.contains("\\"))
            var bytes: [UInt8] = [0x21]
            view.appendUnescaped(to: &bytes)
            #expect(bytes == [0x21] + Array(expected.utf8))
        }
    }

    @Test("Q7: equal strings have equal bytes whatever their escapes, and different strings differ")
    func exact() throws {
        func bytes(_ source: String) throws -> [UInt8] {
            try GuardedText(source).scan { view in
                var bytes: [UInt8] = []
                view.appendExact(to: &bytes)
                return bytes
            }
        }
        let different = [
            #""\ud800""#, #""\udfff""#, #""\ufffd""#, #""\ud800\ud800""#, #""\udc00\ud800""#, #""\ud800\udc00""#,
            #""\ud800x""#, #""x\ud800""#, #""x""#,
        ]
        #expect(Set(try different.map(bytes)).count == different.count)
        #expect(try bytes(#""\ud83d\ude00a""#) == Array("😀a".utf8))
        #expect(try bytes(#""\u0061é""#) == bytes(#""a\u00e9""#))
        #expect(try bytes(#""\uD800""#) == [0xED, 0xA0, 0x80])
    }

    @Test("A string is compared unescaped")
    func compares() throws {
        #expect(try GuardedText(#""track""#).scan { $0.equals("track") })
        #expect(try GuardedText(#""tr\u0061ck""#).scan { $0.equals("track") })
        #expect(try !GuardedText(#""tracK""#).scan { $0.equals("track") })
        #expect(try !GuardedText(#""tr\u0061cks""#).scan { $0.equals("track") })
        #expect(try GuardedText(#""é""#).scan { $0.equals("é") })
        #expect(try GuardedText(#""\u0074\u0072\u0061\u0063\u006b""#).scan { $0.equals("track") })
        #expect(try GuardedText(#""\u00e9""#).scan { $0.equals("é") })
        #expect(try GuardedText(#""\ud83d\ude00""#).scan { $0.equals("😀") })
        let long = String(repeating: #"\""#, count: 100_000)
        #expect(try !GuardedText("\"\(long)\"").scan { $0.equals("track") })
        #expect(try !GuardedText("1").scan { $0.equals("1") })
    }

    @Test(
        "Integers in any notation",
        arguments: [
            ("0", 0), ("-0", 0), ("-7", -7), ("7.0", 7), ("7e2", 700), ("999999999999999999", 999_999_999_999_999_999),
            ("9223372036854775807", Int64.max), ("-9223372036854775808", Int64.min), ("9223372036854775808", nil),
            ("1.5", nil),
            ("1e999", nil), ("9007199254740993.0", 9_007_199_254_740_993), ("1e20", nil), ("null", nil), (#""1""#, nil),
            ("[1]", nil),
        ] as [(String, Int64?)])
    func readsIntegers(source: String, value: Int64?) throws {
        #expect(try GuardedText(source).scan { $0.int } == value)
    }

    @Test("P6: a copied value is written unchanged")
    func roundTrips() throws {
        let text =
            #"{"z":1,"a":[true,false,null,1e999,-0.0,12345678901234567890123],"é\n":{"":"\u0001😀"},"n":1.50}"#
        #expect(try DataItem(parsing: Array(text.utf8)).json == text)
    }

    @Test("Types, and values of the wrong type")
    func reportsKinds() throws {
        try GuardedText(#"[null,true,false,1,"s",[],{}]"#).scan { view throws in
            let elements = Array(try #require(view.elements))
            #expect(elements.map(\.kind) == [.null, .bool, .bool, .number, .string, .array, .object])
            #expect(elements.map(\.bool) == [nil, true, false, nil, nil, nil, nil])
            #expect(elements.map(\.string) == [nil, nil, nil, nil, "s", nil, nil])
            #expect(elements.map { $0.number?.text } == [nil, nil, nil, "1", nil, nil, nil])
        }
    }
}
