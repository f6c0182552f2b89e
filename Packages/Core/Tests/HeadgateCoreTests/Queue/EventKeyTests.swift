import Testing

@testable import HeadgateCore

@Suite("Equality of keys")
struct EventKeyTests {
    private func key(_ json: String) -> EventKey { EventKey(json: Array(json.utf8)[...]) }

    @Test(
        "Q2, P6: keys whose texts differ only in escapes are equal",
        arguments: [
            (#""a""#, #""\u0061""#), (#""/""#, #""\/""#), (#""\n""#, #""\u000a""#), (#""\u00E9""#, "\"é\""),
            (#""\ud83d\ude00""#, "\"😀\""), (#""\uD83D\uDE00x""#, "\"😀x\""),
            (#""\"\\\b\f\r\t""#, #""\u0022\u005c\u0008\u000C\u000D\u0009""#),
            (#""\u0800\u07ff""#, "\"\u{800}\u{7FF}\""), (#""\ufffd""#, "\"\u{FFFD}\""), (#""""#, #""""#),
        ])
    func same(_ one: String, _ other: String) {
        #expect(key(one) == key(other))
        #expect(key(one).hashValue == key(other).hashValue)
    }

    @Test("Q2, P6: unpaired surrogates and the replacement character are different keys")
    func apart() {
        let keys = [
            #""\ud800""#, #""\udc00""#, #""\ufffd""#, #""\ud800\ud800""#, #""\udc00\ud800""#, #""\ud800\udc00""#,
            #""\ud801""#,
            #""\ud800x""#, #""\ud800\u0041""#, #""""#, #""\\ud800""#, #""a""#, #""A""#, "\"e\u{301}\"", "\"é\"",
        ]
        #expect(Set(keys.map(key)).count == keys.count)
    }
}
