extension String {
    /// The text if it has at most so many bytes of UTF-8, otherwise its beginning, up to the last whole code point. Foreign text
    /// is cut by bytes: a single character may have any number of accents.
    public func cut(toBytes most: Int) -> String {
        guard utf8.count > most else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: max(0, most))
        while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
