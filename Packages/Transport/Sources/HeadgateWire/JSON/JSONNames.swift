internal import CSimdjson

/// The names of members that are looked for together, all of them in one pass over an object: at most 8, each of at least one byte
/// and different from the others.
///
/// It is made once and lives as long as the program.
public struct JSONNames: @unchecked Sendable {
    private let count: Int
    /// Nobody changes them.
    private let names = UnsafeMutablePointer<Name>.allocate(capacity: JSONNames.most)

    /// One of them.
    private struct Name {
        /// Its first eight bytes, the first in the lowest, and zeros behind a shorter one: nearly all are told apart by these alone.
        let head: UInt64
        let length: Int
        let text: UnsafeRawBufferPointer

        init(_ text: UnsafeRawBufferPointer) {
            (head, length, self.text) = (JSONNames.head(of: text), text.count, text)
        }
    }

    /// Names in their UTF-8, which needs no escapes.
    public init(_ names: StaticString...) {
        precondition(names.count <= JSONNames.most && names.allSatisfy { $0.utf8CodeUnitCount > 0 })
        count = names.count
        for (place, name) in names.enumerated() {
            let text = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            (self.names + place).initialize(to: Name(text))
        }
    }

    fileprivate static let most = 8

    /// The place of a member's name among them; nil where it is none of them.
    /// - Parameter end: where the object ends in the text.
    @inline(__always)
    fileprivate func place(of key: JSONView, in end: UInt32) -> Int? {
        let (start, length) = (key.entry.pointee.start &+ 1, key.entry.pointee.end &- key.entry.pointee.start &- 2)
        // Nearly all are short, without escapes, and have eight bytes to be read, whatever stands behind them.
        guard key.entry.pointee.kind == HG_JSON_STRING.rawValue, length <= 8, start &+ 8 <= end else {
            return place(ofAny: key)
        }
        let bytes = UInt64(littleEndian: UnsafeRawPointer(key.text + Int(start)).loadUnaligned(as: UInt64.self))
        return place(of: bytes & UInt64.max &>> UInt64(64 &- 8 &* length), length: Int(length), from: 0)
    }

    /// The same of a name of any length, with escapes or without, wherever it stands.
    @inline(never)
    private func place(ofAny key: JSONView) -> Int? {
        var name: [UInt8] = []
        key.appendUnescaped(to: &name)
        let head = name.withUnsafeBytes(JSONNames.head)
        var next = place(of: head, length: name.count, from: 0)
        while let place = next, !names[place].text.elementsEqual(name) {
            next = self.place(of: head, length: name.count, from: place + 1)
        }
        return next
    }

    /// The first from a place on that has this head and length.
    @inline(__always)
    private func place(of head: UInt64, length: Int, from start: Int) -> Int? {
        var place = start
        while place < count {
            if names[place].head == head, names[place].length == length { return place }
            place &+= 1
        }
        return nil
    }

    private static func head(of name: UnsafeRawBufferPointer) -> UInt64 {
        name.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The members of an object that have certain names. Valid as long as the view they come from.
public struct JSONFound {
    @usableFromInline let object: JSONView
    /// By how many entries their values stand behind the object; 0 where there is none.
    @usableFromInline var places = InlineArray<8, UInt32>(repeating: 0)

    @inline(__always)
    fileprivate init(_ names: JSONNames, in object: JSONView) {
        self.object = object
        guard object.kind == .object else { return }
        let end = object.entry.pointee.end
        var remaining = object.count
        var key: UInt32 = 1
        while remaining > 0 {
            let value = key &+ 1
            if let place = names.place(of: object.ahead(key), in: end) { places[unchecked: place] = value }
            key = value &+ object.ahead(value).entry.pointee.span
            remaining &-= 1
        }
    }

    /// The value of the name at a place of ``JSONNames``; nil when there is no such member.
    ///
    /// Of several members with one name the last counts, as with most parsers. Names are compared unescaped.
    @inlinable @inline(__always)
    public subscript(place: Int) -> JSONView? {
        places[place] == 0 ? nil : object.ahead(places[place])
    }
}

extension JSONView {
    /// The members that have certain names; none when this is no object.
    public func find(_ names: JSONNames) -> JSONFound {
        JSONFound(names, in: self)
    }
}
