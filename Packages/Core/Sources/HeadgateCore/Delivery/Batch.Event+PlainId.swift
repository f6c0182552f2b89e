import HeadgateData

extension Batch.Event {
    /// The id itself, the same however its JSON string is spelled.
    public var plainId: String {
        let spelled = id.withoutQuotes
        guard spelled.utf8.contains(UInt8(ascii: "\\")) else { return String(spelled) }
        var bytes: [UInt8] = []
        Array(spelled.utf8).withUnsafeBytes { JSONUnescaper($0).append(to: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    /// What stands between the quotes of a JSON string, as it is spelled.
    var withoutQuotes: Substring {
        // By bytes: a mark that follows the quote makes one character with it.
        let quote = UInt8(ascii: "\"")
        guard utf8.count >= 2, utf8.first == quote, utf8.last == quote else { return self[...] }
        return Substring(utf8.dropFirst().dropLast())
    }
}
