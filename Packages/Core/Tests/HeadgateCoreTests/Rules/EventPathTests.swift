import Testing

@testable import HeadgateCore

@Suite("Paths")
struct EventPathTests {
    @Test(
        "S5: a path is split at its unescaped dots",
        arguments: [
            ("event", .event, []), ("data", .data, []), ("data.user.id", .data, ["user", "id"]),
            ("context.uid", .context, ["uid"]), ("received_at", .receivedAt, []), ("seq", .sequenceNumber, []),
            ("plan", .data, ["plan"]), ("user.id", .data, ["user", "id"]), ("", .data, [""]), ("data.", .data, [""]),
            ("data..x", .data, ["", "x"]), (#"data.a\.b.c"#, .data, ["a.b", "c"]),
            (#"data.a\\.b"#, .data, [#"a\"#, "b"]),
            (#"data.\a"#, .data, ["a"]), (#"ev\ent"#, .event, []), ("data.e\u{301}", .data, ["e\u{301}"]),
        ] as [(String, EventMember, [String])])
    func splits(text: String, member: EventMember, names: [String]) {
        #expect(EventPath(text).member == member)
        #expect(EventPath(text).names.map { Array($0.utf8) } == names.map { Array($0.utf8) })
    }
}
