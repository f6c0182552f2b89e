internal import CSimdjson

/// The names of members that are searched together, in one pass over an object: at most 8 different names of at least
/// one byte.
///
/// The names are allocated once and never freed.
public struct JSONNames: @unchecked Sendable {
    private let count: Int
    /// The length of the longest name, in bytes.
    private let longest: Int
    /// The names are never changed.
    private let names = UnsafeMutablePointer<Name>.allocate(capacity: JSONNames.most)

    /// One of the names.
    private struct Name {
        /// The first eight bytes, the first in the lowest, with zeros after a shorter name. Mostly they are sufficient
        /// to identify a name.
        let head: UInt64
        let length: Int
        let text: UnsafeRawBufferPointer

        init(_ text: UnsafeRawBufferPointer) {
            (head, length, self.text) = (JSONNames.head(of: text), text.count, text)
        }
    }

    /// Creates a list of names, which must not need escapes in JSON.
    public init(_ names: StaticString...) {
        precondition(names.count <= JSONNames.most && names.allSatisfy { $0.utf8CodeUnitCount > 0 })
        count = names.count
        longest = names.map(\.utf8CodeUnitCount).max() ?? 0
        for (index, name) in names.enumerated() {
            let text = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            (self.names + index).initialize(to: Name(text))
        }
    }

    fileprivate static let most = 8

    /// Returns the index of a member's name, or nil if the name is not in the list.
    /// - Parameters:
    ///   - key: the name.
    ///   - end: the end of the object in the text.
    @inline(__always)
    fileprivate func index(of key: JSONView, in end: UInt32) -> Int? {
        let (start, length) = (key.entry.pointee.start &+ 1, key.entry.pointee.end &- key.entry.pointee.start &- 2)
        // The common case: a short name without escapes, with eight readable bytes from its beginning.
        guard key.entry.pointee.kind == HG_JSON_STRING.rawValue, length <= 8, start &+ 8 <= end else {
            return index(ofAny: key)
        }
        let bytes = UInt64(littleEndian: UnsafeRawPointer(key.text + Int(start)).loadUnaligned(as: UInt64.self))
        return index(of: bytes & UInt64.max &>> UInt64(64 &- 8 &* length), length: Int(length), from: 0)
    }

    /// Returns the index of a name of any length, with or without escapes.
    @inline(never)
    private func index(ofAny key: JSONView) -> Int? {
        guard key.rawText.count <= JSONView.longestEscape * longest else { return nil }
        var name: [UInt8] = []
        key.appendUnescaped(to: &name)
        let head = name.withUnsafeBytes(JSONNames.head)
        var next = index(of: head, length: name.count, from: 0)
        while let index = next, !names[index].text.elementsEqual(name) {
            next = self.index(of: head, length: name.count, from: index + 1)
        }
        return next
    }

    /// Returns the first index from `start` on whose name has this head and length.
    @inline(__always)
    private func index(of head: UInt64, length: Int, from start: Int) -> Int? {
        var index = start
        while index < count {
            if names[index].head == head, names[index].length == length { return index }
            index &+= 1
        }
        return nil
    }

    private static func head(of name: UnsafeRawBufferPointer) -> UInt64 {
        name.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The members of an object that have certain names. It is valid as long as the object's view.
public struct JSONFound {
    @usableFromInline let object: JSONView
    /// The distances of the values' entries from the object's entry; 0 for a missing member.
    @usableFromInline var offsets = InlineArray<8, UInt32>(repeating: 0)

    @inline(__always)
    fileprivate init(_ names: JSONNames, in object: JSONView) {
        self.object = object
        guard object.kind == .object else { return }
        let end = object.entry.pointee.end
        var remaining = object.count
        var key: UInt32 = 1
        while remaining > 0 {
            let value = key &+ 1
            if let index = names.index(of: object.ahead(key), in: end) { offsets[unchecked: index] = value }
            key = value &+ object.ahead(value).entry.pointee.span
            remaining &-= 1
        }
    }

    /// The value of the name at an index of ``JSONNames``; nil if there is no such member.
    ///
    /// If a name repeats, the last member counts, as with most parsers. Names are compared with their escapes decoded.
    @inlinable @inline(__always)
    public subscript(index: Int) -> JSONView? {
        offsets[index] == 0 ? nil : object.ahead(offsets[index])
    }
}

extension JSONView {
    /// Returns the members that have certain names; none if this is not an object.
    public func find(_ names: JSONNames) -> JSONFound {
        JSONFound(names, in: self)
    }
}
