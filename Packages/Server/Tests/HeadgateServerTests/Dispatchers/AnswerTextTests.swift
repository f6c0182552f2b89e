import Testing

@testable import HeadgateServer

/// Tests the readable text that is made of an answer's body.
@Suite("http dispatcher: bodies of answers")
struct AnswerTextTests {
    private func text(
        _ body: [UInt8], _ coding: String? = nil, isCut: Bool = false, secrets: [String] = [], limit: Int = 512
    ) -> String? {
        let headers = coding.map { [AnswerText.codingHeader: $0] } ?? [:]
        let answer = HTTPAnswer(status: 400, headers: headers, body: body)
        return AnswerText(answer, isCut: isCut, mostBytes: 600).excerpt(SecretMask(secrets), limit: limit)
    }

    private let words = "the field `total` is missing\n"

    @Test("D10: a compressed body is shown as text", arguments: ["gzip", "x-gzip", "GZIP", "deflate", "zstd"])
    func compressed(coding: String) throws {
        let bytes = Array(words.utf8)
        let body = try #require(coding == "zstd" ? Zstandard.compressed(bytes) : Gzip.compressed(bytes))
        #expect(text(body, coding) == words)
    }

    @Test("D10: a deflate stream without a zlib header is decompressed, too")
    func bareDeflate() throws {
        let body = try #require(Gzip.compressed(Array(words.utf8)))
        #expect(text(Array(body.dropFirst(10).dropLast(8)), "deflate") == words)
    }

    @Test(
        "D10: the beginning of a truncated compressed body is shown as far as it can be read",
        arguments: ["gzip", "zstd"])
    func cut(coding: String) throws {
        let bytes = Array((0..<20_000).map { "line \($0 &* 2_654_435_761)\n" }.joined().utf8)
        let body = try #require(coding == "zstd" ? Zstandard.compressed(bytes) : Gzip.compressed(bytes))
        let reported = text(Array(body.prefix(body.count / 2)), coding, isCut: true)
        #expect(reported == String(decoding: bytes.prefix(512), as: UTF8.self))
    }

    @Test("D10: a binary body is shown as `(not text)`, with its Content-Encoding if it has one")
    func notText() {
        #expect(text([0x1F, 0x8B, 0x00], "br") == "(not text; Content-Encoding: br)")
        #expect(text([0x1F, 0x8B, 0x00], "gzip") == "(not text; Content-Encoding: gzip)")
        #expect(text([0x41, 0x00]) == "(not text)" && text([0x1B, 0x5B, 0x32, 0x4A]) == "(not text)")
        #expect(text([0x00], "b\u{1}r\u{7}") == "(not text; Content-Encoding: br)")
    }

    @Test("D10: plain text stays as it is, and an empty body has no text")
    func plain() {
        #expect(text(Array("a\tb\r\nc é".utf8)) == "a\tb\r\nc é" && text([]) == nil)
        #expect(text(Array(words.utf8), "identity") == words)
    }

    @Test("D10: a Content-Encoding header is found in any case, with or without a space")
    func codingHeader() {
        for (line, isOne) in [
            ("Content-Encoding: br", true), ("content-ENCODING:gzip", true), ("Content-Type: x", false),
        ] {
            #expect(Array(line.utf8).withUnsafeBytes { AnswerText.isCodingHeader($0) } == isOne)
        }
    }

    @Test("X4: a secret in a compressed body is blanked")
    func secret() throws {
        let body = try #require(Gzip.compressed(Array("token s3cret-9 is wrong".utf8)))
        #expect(text(body, "gzip", secrets: ["s3cret-9"]) == "token *** is wrong")
    }

    @Test("X2: of a compressed body that expands to 50 MB only the beginning is decompressed")
    func bomb() throws {
        let body = try #require(Gzip.compressed([UInt8](repeating: UInt8(ascii: "x"), count: 50_000_000)))
        #expect(text(body, "gzip", limit: 100) == String(repeating: "x", count: 100))
    }
}
