import Testing

@testable import HeadgateServer

@Suite("Endpoints")
struct EndpointTests {
    @Test(
        "K1: an endpoint is an http URL, of https when it names no scheme",
        arguments: [
            ("https://a.example/x?y=1", "https://a.example/x?y=1", "a.example", nil),
            ("HTTP://127.0.0.1:8080/events", "http://127.0.0.1:8080/events", "127.0.0.1", 8080),
            ("a.example", "https://a.example", "a.example", nil),
            ("localhost:1/x", "https://localhost:1/x", "localhost", 1),
            ("a.example/?u=http://b", "https://a.example/?u=http://b", "a.example", nil),
            ("http://[::1]:65535", "http://[::1]:65535", "::1", 65_535),
            ("http://u:p@w@h:2", "http://u:p@w@h:2", "h", 2),
            ("http://bücher.example", "http://bücher.example", "bücher.example", nil),
        ] as [(String, String, String, Int?)])
    func good(given: String, text: String, host: String, port: Int?) throws {
        let endpoint = try Endpoint(given)
        #expect(endpoint.text == text)
        #expect(endpoint.authority.host == host)
        #expect(endpoint.authority.port == port)
    }

    @Test("X4: the user and the password are known for what they are")
    func userInfo() throws {
        #expect(try Endpoint("http://u:p@w@h:2").authority.userInfo == "u:p@w")
        #expect(try Endpoint("http://h/x@y").authority.userInfo == nil)
    }

    @Test(
        "What is no http URL is refused",
        arguments: [
            "", " ", "http://", "https:///x", "http://:80", "http://a b", "http://a\n", "ftp://a", "unix://a",
            "http://a:0", "http://a:65536", "http://a:", "http://a:x", "http://a:+1", "http://[::1", "http://[::1]x",
            "http://[]", "http://a,b", "http://user@", "mailto:x", "http://a\\b",
        ])
    func bad(text: String) {
        #expect(throws: Endpoint.Fault.self) { try Endpoint(text) }
    }
}
