import HeadgateCore
import Testing

@testable import HeadgateServer

@Suite("Endpoints")
struct EndpointTests {
    @Test(
        "K1: an endpoint is an http URL, with https if it names no scheme",
        arguments: [
            ("https://a.example/x?y=1", "https://a.example/x?y=1", "a.example", nil),
            ("HTTP://127.0.0.1:8080/events", "http://127.0.0.1:8080/events", "127.0.0.1", 8080),
            ("a.example", "https://a.example", "a.example", nil),
            ("localhost:1/x", "https://localhost:1/x", "localhost", 1),
            ("a.example/?u=http://b", "https://a.example/?u=http://b", "a.example", nil),
            ("http://[::1]:65535", "http://[::1]:65535", "::1", 65_535),
            ("http://u:p%40w@h:2", "http://u:p%40w@h:2", "h", 2),
            ("http://bücher.example", "http://bücher.example", "bücher.example", nil),
        ] as [(String, String, String, Int?)])
    func good(given: String, text: String, host: String, port: Int?) throws {
        let endpoint = try Endpoint(given)
        #expect(endpoint.text == text)
        #expect(endpoint.authority.host == host)
        #expect(endpoint.authority.port == port)
    }

    @Test("X4: the user and the password in an endpoint's URL are recognised")
    func userInfo() throws {
        #expect(try Endpoint("http://u:p%40w@h:2").authority.userInfo == "u:p%40w")
        #expect(try Endpoint("http://h/x@y").authority.userInfo == nil)
    }

    @Test(
        "A text that is not a valid HTTP URL is refused as an endpoint",
        arguments: [
            "", " ", "http://", "https:///x", "http://:80", "http://a b", "http://a\n", "ftp://a", "unix://a",
            "http://a:0", "http://a:65536", "http://a:", "http://a:x", "http://a:+1", "http://[::1", "http://[::1]x",
            "http://[]", "http://a,b", "http://user@", "mailto:x", "http://a@b@c/", "http://u:p@w@h", "http://a\\b",
            "\u{659}Б/", "http://a/?\u{301}",
        ])
    func bad(text: String) {
        #expect(throws: Endpoint.Fault.self) { try Endpoint(text) }
    }
}

@Suite("Endpoints on this machine")
struct LoopbackTests {
    static let here = [
        "localhost", "LOCALHOST", "LocalHost.", "a.localhost", "a.b.LocalHost", "a.localhost.", "127.0.0.1",
        "127.255.255.254", "127.0.0.1.", "127.1", "127.0.1", "0x7f000001", "0X7F.1", "0177.0.0.1", "017700000001",
        "2130706433", "127.0.0.01", "0", "0.0.0.0", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::0:1]", "[::]",
        "[::1%25lo]", "[::ffff:127.0.0.1]", "[::FFFF:127.1.2.3]", "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:7F00:0001]",
    ]
    static let elsewhere = [
        "a.example", "localhost.example", "notlocalhost", "localhost-1", "128.0.0.1", "126.255.255.255", "1.0.0.127",
        "127.0.0.1.example", "127.0.0.256", "127.0.0.1.5", "0127.0.0.1", "0x80000001", "2147483649", "0.0.0.1", "1",
        "[::2]", "[::1:1]", "[1::1]", "[::127.0.0.1]", "[::fffe:127.0.0.1]", "[::ffff:128.0.0.1]", "[fe80::1]",
        "[::ffff:0:7f00:1]", "127", "x127.0.0.1",
    ]

    @Test("B20: a loopback endpoint needs no network, in every spelling of the host", arguments: here)
    func loopback(host: String) throws {
        for endpoint in ["http://\(host)", "https://u:p@\(host):8443/events?x=1", host] {
            #expect(try !reachesNetwork(endpoint), "\(endpoint)")
        }
    }

    @Test(
        "K1: no proxy is used for a loopback endpoint, in every spelling of the host",
        arguments: ["[::ffff:7f00:1]", "0x7f.1"])
    func proxies(host: String) {
        #expect(HTTPSettings(endpoint: "http://\(host)").isLoopback)
        #expect(!HTTPSettings(endpoint: "http://a.example").isLoopback)
    }

    @Test("B20: an endpoint with any other host needs a network", arguments: elsewhere)
    func other(host: String) throws {
        for endpoint in ["http://\(host)", "https://127.0.0.1@\(host):8443/localhost#127.0.0.1", host] {
            #expect(try reachesNetwork(endpoint), "\(endpoint)")
        }
    }

    @Test(
        "B20: an endpoint behind a Unix socket needs no network, whatever the URL's host is",
        arguments: ["http://a.example", "http://127.1"])
    func unixSocket(endpoint: String) throws {
        let settings = HTTPSettings(endpoint: endpoint, unixSocket: "/run/collector.sock")
        #expect(!settings.reachesNetwork)
    }

    @Test("B20: NATS servers on loopback are recognised by the same spellings", arguments: here)
    func nats(host: String) throws {
        let settings = NATSSettings(servers: [try NATSServer("tls://\(host):4222")], subject: "s")
        #expect(!NATSKind().reachesNetwork(settings))
        #expect(try NATSServer("nats://a.example").authority.isLoopback == false)
    }

    private func reachesNetwork(_ endpoint: String) throws -> Bool {
        HTTPSettings(endpoint: try Endpoint(endpoint).text).reachesNetwork
    }
}
