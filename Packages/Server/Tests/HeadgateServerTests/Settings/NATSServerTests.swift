import Testing

@testable import HeadgateServer

@Suite("Servers and names of NATS")
struct NATSServerTests {
    @Test("K4: a server is a nats or tls URL, of nats when it names no scheme")
    func good() throws {
        let server = try NATSServer("TLS://u:p@h.example:4443")
        #expect(server.text == "tls://u:p@h.example:4443")
        #expect(server.isSecure)
        #expect(server.authority.userInfo == "u:p")
        #expect(server.authority.host == "h.example")
        #expect(server.authority.port == 4443)
        let bare = try NATSServer("h:1")
        #expect(bare.text == "nats://h:1")
        #expect(!bare.isSecure)
        #expect(bare.decodedText == bare.text)
        #expect(try NATSServer("tls://u:p%40%2F@h:1").decodedText == "tls://u:p@/@h:1")
    }

    @Test(
        "What is no such URL is refused",
        arguments: [
            "", " ", "nats://", "nats://:4222", "http://a", "ws://a", "a b", "a\n", "a/b", "a?x", "a:65536", "a%00@b",
        ])
    func bad(text: String) {
        #expect(throws: Endpoint.Fault.self) { try NATSServer(text) }
    }

    @Test("K4: subjects to publish to", arguments: ["a", "a.b.c", "shop.till-7", "bücher.x", "a>b", "a*"])
    func subjects(subject: String) {
        #expect(NATSName.complaint(aboutSubject: subject) == nil)
    }

    @Test(
        "K4: what is no such subject",
        arguments: ["", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nPUB x", "*", "a.>", "$SYS.x", "a\u{7F}"]
            + [String(repeating: "a", count: 256)])
    func badSubjects(subject: String) {
        #expect(NATSName.complaint(aboutSubject: subject) != nil)
    }

    @Test(
        "K4: streams' names", arguments: [("A-1_b", true), ("", false), ("a b", false), ("a>", false), ("a/b", false)])
    func streams(name: String, isGood: Bool) {
        #expect((NATSName.complaint(aboutStream: name) == nil) == isGood)
    }
}
