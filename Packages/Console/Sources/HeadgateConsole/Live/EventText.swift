/// Frames what is told to a page as server-sent events (WHATWG HTML, 9.2).
enum EventText {
    /// How soon a page that lost the console looks for it again.
    static let opening = Array("retry: 2000\n\n".utf8)
    /// Says nothing; whoever is gone is found out by it.
    static let sign = Array(":\n\n".utf8)

    /// An event of a name. Each line of the text becomes one of `data:`, whatever ends it.
    static func event(_ name: StaticString, _ text: String) -> [UInt8] {
        var bytes = Array("event: \(name)\n".utf8)
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            bytes += "data: ".utf8
            bytes += line.utf8
            bytes.append(UInt8(ascii: "\n"))
        }
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }
}
