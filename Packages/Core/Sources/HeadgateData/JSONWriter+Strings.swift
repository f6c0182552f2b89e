extension JSONWriter {
    /// Writes a string, quoted and escaped.
    public mutating func string(_ value: String) {
        let isWritten: Void? = value.utf8.withContiguousStorageIfAvailable { string(utf8: UnsafeRawBufferPointer($0)) }
        guard isWritten == nil else { return }
        // A string bridged from elsewhere has no UTF-8 of its own: make it native first.
        var native = value
        native.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Writes a string, quoted and escaped, whose bytes are valid UTF-8.
    public mutating func string(utf8 source: UnsafeRawBufferPointer) {
        bytes.append(.quote)
        escaped(utf8: source)
        bytes.append(.quote)
    }

    /// Writes the inside of a string: escaped, without the quotes.
    public mutating func escaped(utf8 source: UnsafeRawBufferPointer) {
        var start = 0
        while true {
            let end = source.firstToEscape(from: start)
            if end > start { bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: source[start..<end])) }
            guard end < source.count else { return }
            escape(source[end])
            start = end + 1
        }
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case .quote: raw("\\\"")
        case .backslash: raw("\\\\")
        case 0x08: raw("\\b")
        case 0x09: raw("\\t")
        case 0x0A: raw("\\n")
        case 0x0C: raw("\\f")
        case 0x0D: raw("\\r")
        default:
            raw(byte < 0x10 ? "\\u000" : "\\u001")
            bytes.append(.hexDigit(byte & 0x0F))
        }
    }
}

extension UInt8 {
    fileprivate static let quote: UInt8 = 0x22
    fileprivate static let backslash: UInt8 = 0x5C

    fileprivate static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x61 + value - 10
    }
}

extension UnsafeRawBufferPointer {
    /// The place of the next byte that JSON wants escaped, or the end.
    fileprivate func firstToEscape(from start: Int) -> Int {
        var place = start
        while place + 8 <= count, !hasByteToEscape(loadUnaligned(fromByteOffset: place, as: UInt64.self)) {
            place += 8
        }
        while place < count, !needsEscape(self[place]) { place += 1 }
        return place
    }

    private func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == .quote || byte == .backslash
    }

    /// Looks at eight bytes at once: a byte below n, or equal to one, sets its top bit (Hacker's Delight, 6-1).
    private func hasByteToEscape(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let control = (word &- ones &* 0x20) & ~word
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5C)
        let isQuote = (quotes &- ones) & ~quotes
        let isBackslash = (backslashes &- ones) & ~backslashes
        return (control | isQuote | isBackslash) & (ones &* 0x80) != 0
    }
}
