import Glibc

/// An outline that finds the parts of a JSON text in place, without copying. The text must be valid JSON: for other
/// bytes the results are meaningless, but reads never leave the text.
public struct JSONOutline {
    private let text: UnsafeRawBufferPointer

    /// Creates an outline of a text. The text must outlive the outline.
    public init(_ text: UnsafeRawBufferPointer) {
        self.text = text
    }

    /// The type of a JSON value.
    public enum Kind: Sendable {
        case null, bool, number, string, array, object
    }

    /// One member of an object.
    public struct Member: Sendable, Equatable {
        /// The range of the name, with its quotes and escapes.
        public let name: Range<Int>
        public let value: Range<Int>
    }

    /// The range of the text without surrounding white space.
    public var whole: Range<Int> {
        let start = behindSpace(from: 0)
        var end = text.count
        while end > start, text[end - 1] <= 0x20 { end -= 1 }
        return start..<end
    }

    /// Returns the type of the value in a range, or nil if the range is empty.
    public func kind(of range: Range<Int>) -> Kind? {
        guard let first = range.first else { return nil }
        return switch text[first] {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        case UInt8(ascii: "n"): .null
        default: .number
        }
    }

    /// Calls `body` for each member of an object, in order. Repeated names are not merged.
    /// - Parameter body: returns false to end the iteration.
    public func eachMember(of object: Range<Int>, _ body: (Member) -> Bool) {
        guard kind(of: object) == .object else { return }
        var offset = behindSpace(from: object.lowerBound + 1)
        while offset < object.upperBound, text[offset] == UInt8(ascii: "\"") {
            let name = offset..<behindString(from: offset)
            // The first byte after the colon.
            let start = behindSpace(from: behindSpace(from: name.upperBound) + 1)
            let end = behindValue(from: start)
            guard start < end, end < object.upperBound else { return }
            guard body(Member(name: name, value: start..<end)) else { return }
            offset = behindComma(from: end)
        }
    }

    /// Returns the members of an object in order, with repeated names. Returns an empty array for another type of
    /// value.
    public func members(of object: Range<Int>) -> [Member] {
        var members: [Member] = []
        eachMember(of: object) {
            members.append($0)
            return true
        }
        return members
    }

    /// Returns the elements of an array. Returns an empty array for another type of value.
    public func elements(of array: Range<Int>) -> [Range<Int>] {
        guard kind(of: array) == .array else { return [] }
        var elements: [Range<Int>] = []
        var offset = behindSpace(from: array.lowerBound + 1)
        while offset < array.upperBound - 1 {
            let end = behindValue(from: offset)
            guard offset < end, end < array.upperBound else { break }
            elements.append(offset..<end)
            offset = behindComma(from: end)
        }
        return elements
    }

    /// Returns the depth of nested arrays and objects in a value; 0 for a value that is neither.
    public func depth(of range: Range<Int>) -> Int {
        var (depth, most, offset) = (0, 0, range.lowerBound)
        while offset < range.upperBound {
            switch text[offset] {
            case UInt8(ascii: "\""):
                offset = behindString(from: offset)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                most = max(most, depth)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            offset += 1
        }
        return most
    }

    // MARK: Values

    /// Returns true if a string with its quotes and escapes equals a text. A string with a lone surrogate equals no
    /// text.
    public func string(_ range: Range<Int>, equals text: String) -> Bool {
        let rawText = inside(range)
        guard rawText.contains(UInt8(ascii: "\\")) else {
            return rawText.count == text.utf8.count && text.utf8.elementsEqual(rawText)
        }
        return text.utf8.elementsEqual(exactString(range))
    }

    /// Returns the bytes of a string in UTF-8. Lone surrogates are encoded in three bytes, as UTF-8 would encode their
    /// code points.
    public func exactString(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONUnescaper(inside(range)).append(to: &bytes, keepingHalves: true)
        return bytes
    }

    /// Returns the value in a range. If a name repeats, the last value is kept at the position of the first.
    public func item(_ range: Range<Int>) -> DataItem {
        switch kind(of: range) {
        case nil, .null: .null
        case .bool: .bool(text[range.lowerBound] == UInt8(ascii: "t"))
        case .number: .number(DataNumber(unchecked: String(decoding: text[range], as: UTF8.self)))
        case .string: .string(string(range))
        case .array: .array(elements(of: range).map(item))
        case .object: .object(DataObject(members(of: range).lazy.map { (string($0.name), item($0.value)) }))
        }
    }

    /// Returns a string without quotes and escapes. Lone surrogates become U+FFFD.
    public func string(_ range: Range<Int>) -> String {
        let rawText = inside(range)
        guard rawText.contains(UInt8(ascii: "\\")) else { return String(decoding: rawText, as: UTF8.self) }
        var bytes: [UInt8] = []
        JSONUnescaper(rawText).append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func inside(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        guard range.count >= 2 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(rebasing: text[range.lowerBound + 1..<range.upperBound - 1])
    }

    // MARK: Steps

    private func behindSpace(from start: Int) -> Int {
        var offset = start
        while offset < text.count, text[offset] <= 0x20 { offset += 1 }
        return min(offset, text.count)
    }

    private func behindComma(from end: Int) -> Int {
        let offset = behindSpace(from: end)
        guard offset < text.count, text[offset] == UInt8(ascii: ",") else { return offset }
        return behindSpace(from: offset + 1)
    }

    private func behindString(from start: Int) -> Int {
        var offset = start + 1
        while let quote = firstQuote(from: offset) {
            // Backslashes escape each other in pairs. One that is left escapes the quote.
            var escapes = quote
            while escapes > offset, text[escapes - 1] == UInt8(ascii: "\\") { escapes -= 1 }
            if (quote - escapes).isMultiple(of: 2) { return quote + 1 }
            offset = quote + 1
        }
        return text.count
    }

    /// Returns the offset of the next quote; nil if there is none. Most of a text is in strings.
    private func firstQuote(from offset: Int) -> Int? {
        guard offset < text.count, let base = text.baseAddress else { return nil }
        let quote = Int32(UInt8(ascii: "\""))
        return memchr(base + offset, quote, text.count - offset).map { UnsafeRawPointer($0) - base }
    }

    private func behindValue(from start: Int) -> Int {
        guard start < text.count else { return text.count }
        switch text[start] {
        case UInt8(ascii: "\""): return behindString(from: start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return behindContainer(from: start)
        default:
            var offset = start
            while offset < text.count, !isEnd(text[offset]) { offset += 1 }
            return offset
        }
    }

    private func behindContainer(from start: Int) -> Int {
        var (depth, offset) = (0, start)
        while offset < text.count {
            switch text[offset] {
            case UInt8(ascii: "\""):
                offset = behindString(from: offset)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return offset + 1 }
            default: break
            }
            offset += 1
        }
        return text.count
    }

    private func isEnd(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
    }
}
