import Testing

@testable import HeadgateConsole

/// Tests that only the program's own literals are markup.
@Suite("HTML")
struct HTMLTests {
    @Test("Inserted text is escaped, in text and in attributes; HTML values are not escaped twice")
    func escaping() {
        let words = #"<script>"x"&'y'"#
        let inner: HTML = "<b>\(words)</b>"
        let outer: HTML = "<p title=\"\(words)\">\(inner)\([inner, inner])\(7)</p>"
        let safe = "&lt;script&gt;&quot;x&quot;&amp;&#39;y&#39;"
        #expect(inner.text == "<b>\(safe)</b>")
        #expect(outer.text == "<p title=\"\(safe)\">\(inner.text)\(inner.text)\(inner.text)7</p>")
    }

    @Test(
        "Characters that hide, or turn the line around, become marks",
        arguments: ["\0", "\u{1b}", "\u{202e}", "\u{2066}", "\u{85}"])
    func hidden(words: String) {
        let html: HTML = "\(words)"
        #expect(html.text == "\u{fffd}")
    }

    @Test("Words between backticks are set apart")
    func prose() {
        #expect(Formatting.prose("Do `a<b` now").text == "Do <code>a&lt;b</code> now")
    }
}
