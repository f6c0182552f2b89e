import Testing

@testable import HeadgateConsole

/// Tests the encoding of URLs and forms.
@Suite("URLs and forms")
struct URLTextTests {
    @Test("Encoded text decodes to itself, and has only letters that a URL may have")
    func roundTrip() {
        for text in ["", "abc", "a b+c", "ä/€?#&=%", "\0\n\u{7f}"] {
            let encoded = URLText.encoded(text)
            #expect(URLText.decoded(encoded) == text && URLText.decoded(encoded, isForm: true) == text)
            #expect(
                encoded.utf8.allSatisfy {
                    "%-._~".utf8.contains($0) || Character(Unicode.Scalar($0)).isLetter
                        || Character(Unicode.Scalar($0)).isNumber
                })
        }
    }

    @Test("A malformed encoding decodes to nil", arguments: ["%", "%a", "%zz", "%ff", "%c3", "a%2"])
    func broken(text: String) {
        #expect(URLText.decoded(text) == nil && FormFields("a=\(text)") == nil)
    }

    @Test("The fields of a form keep their order; of one name the first counts")
    func fields() throws {
        let form = try #require(FormFields("a=1&b=+x%2By&a=2&c&=d"))
        #expect(form["a"] == "1" && form["b"] == " x+y" && form["c"] == "" && form[""] == "d" && form["z"] == nil)
        #expect(form.without("a").text == "b=%20x%2By&c=&=d")
    }
}
