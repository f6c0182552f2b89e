extension String {
    /// Returns the text if it has at most `most` bytes of UTF-8, otherwise its longest beginning of whole code points
    /// that fits. The limit counts bytes, since one character of untrusted text may consist of any number of code
    /// points.
    public func cut(toBytes most: Int) -> String {
        guard utf8.count > most else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: max(0, most))
        while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
