/// The text form of server-sent events (WHATWG HTML, 9.2).
enum EventText {
    /// The field `retry`: a page that lost the console connects again after two seconds.
    static let opening = Array("retry: 2000\n\n".utf8)
    /// An empty comment, the keep-alive. Writing it shows whether the reader has left.
    static let sign = Array(":\n\n".utf8)

    /// Returns an event. Each line of the text becomes a line of `data:`.
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
