import HeadgateData
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

/// Tests base64, percent-encoding and URL credentials, which do no I/O.
@Suite("http dispatcher: base64, percent-encoding and URL credentials")
struct HTTPPartsTests {
    @Test(
        "RFC 4648: base64",
        arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
    )
    func base64(text: String, encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == encoded)
    }

    @Test("RFC 3986: percent-encoding decodes to its input, and a text without it is unchanged")
    func percent() {
        let all = (0...255).map { UInt8($0) }
        #expect(PercentEncoding.unreserved(all).utf8.allSatisfy { $0 < 0x7F && $0 > 0x20 })
        #expect(PercentEncoding.decode(PercentEncoding.unreserved(Array("aé%/ ~".utf8))) == "aé%/ ~")
        #expect(PercentEncoding.unreserved([]).isEmpty && PercentEncoding.decode("").isEmpty)
        // The largest event has this size.
        #expect(PercentEncoding.unreserved([UInt8](repeating: 0x22, count: 9 << 20)).utf8.count == 27 << 20)
        #expect(PercentEncoding.decode("a%00b") == "a\0b")
        #expect(PercentEncoding.decode("100%, 5%zz, %4") == "100%, 5%zz, %4")
    }

    @Test(
        "X4: a URL without user info has no credentials", arguments: ["http://h/", "http://h/a@b", "h", "http://@h/"])
    func noUserInfo(url: String) {
        #expect(URLCredentials(url: url) == nil)
    }

    @Test("X4: in a URL without a password the user name is the secret")
    func tokenAsUser() {
        #expect(URLCredentials(url: "https://tok%20en@host/")?.secrets.contains("tok en") == true)
        #expect(URLCredentials(url: "https://u:p@ss@host/")?.secrets.contains("p@ss") == true)
    }
}
