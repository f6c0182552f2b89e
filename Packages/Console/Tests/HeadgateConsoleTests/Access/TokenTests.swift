import Testing

@testable import HeadgateConsole

/// Tests the token of the console (Protocol, The console).
@Suite("Tokens")
struct TokenTests {
    @Test("A token matches itself, and no text with the same beginning or end, or that looks similar")
    func matching() throws {
        let token = try #require(Token("abcdef"))
        #expect(token.matches("abcdef"))
        for offer in ["", "a", "abcde", "abcdefa", "abcdefabcdef", "Abcdef", "abcdeg"] {
            #expect(!token.matches(offer))
        }
    }

    @Test("A token that a cookie cannot carry is invalid")
    func characters() {
        for text in ["", "a b", "a;b", "a,b", "a\"b", "a\\b", "a\nb", "ä"] { #expect(Token(text) == nil) }
    }

    @Test("Each generated token differs from the others, and has 256 bits")
    func chance() {
        let tokens = (0..<20).map { _ in Token.fresh().text }
        #expect(Set(tokens).count == 20 && tokens.allSatisfy { $0.count == 64 })
    }
}
