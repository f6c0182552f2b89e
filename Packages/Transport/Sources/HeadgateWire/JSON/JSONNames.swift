internal import CSimdjson
internal import Glibc

/// The names of members that are looked for together, all of them in one pass over an object: at most 8, each of 1 to 127 bytes and
/// different from the others.
///
/// It is made once and lives as long as the program.
public struct JSONNames: @unchecked Sendable {
    /// Their lengths, a byte each, the first in the lowest; 0 where there is none.
    private let lengths: UInt64
    /// Nobody changes them.
    private let texts = UnsafeMutablePointer<UnsafeRawBufferPointer>.allocate(capacity: JSONNames.most)

    /// Names in their UTF-8, which needs no escapes.
    public init(_ names: StaticString...) {
        precondition(names.count <= JSONNames.most && names.allSatisfy { 1..<128 ~= $0.utf8CodeUnitCount })
        lengths = names.reversed().reduce(0) { $0 << 8 | UInt64($1.utf8CodeUnitCount) }
        texts.initialize(repeating: UnsafeRawBufferPointer(start: nil, count: 0), count: JSONNames.most)
        for (place, name) in names.enumerated() {
            texts[place] = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        }
    }

    fileprivate static let most = 8

    /// The place of a member's name among them; nil where it is none of them.
    fileprivate func place(of key: JSONView) -> Int? {
        if let contents = key.contents { return place(of: contents) }
        var name: [UInt8] = []
        key.appendUnescaped(to: &name)
        return name.withUnsafeBytes(place)
    }

    private func place(of name: UnsafeRawBufferPointer) -> Int? {
        guard name.count < 128, let start = name.baseAddress else { return nil }
        // A byte that is zero has its top bit set (Hacker's Delight, 6-1), and perhaps one above it, which is looked at as well.
        let differences = lengths ^ 0x0101_0101_0101_0101 &* UInt64(truncatingIfNeeded: name.count)
        var candidates = (differences &- 0x0101_0101_0101_0101) & ~differences & 0x8080_8080_8080_8080
        while candidates != 0 {
            let place = candidates.trailingZeroBitCount >> 3
            let text = texts[place]
            if text.count == name.count, let wanted = text.baseAddress, memcmp(wanted, start, name.count) == 0 {
                return place
            }
            candidates &= candidates &- 1
        }
        return nil
    }
}

/// The members of an object that have certain names. Valid as long as the view they come from.
public struct JSONFound {
    private let object: JSONView
    /// The entries of their values; 0, which is never a member's, where there is none.
    private var places = InlineArray<8, UInt32>(repeating: 0)

    fileprivate init(_ names: JSONNames, in object: JSONView) {
        self.object = object
        var member = object.firstInside
        for _ in 0..<(object.kind == .object ? object.count : 0) {
            let key = object.at(member)
            let value = key.next
            member = object.at(value).next
            if let place = names.place(of: key) { places[place] = value }
        }
    }

    /// The value of the name at a place of ``JSONNames``; nil when there is no such member.
    ///
    /// Of several members with one name the last counts, as with most parsers. Names are compared unescaped.
    public subscript(place: Int) -> JSONView? {
        places[place] == 0 ? nil : object.at(places[place])
    }
}

extension JSONView {
    /// The members that have certain names; none when this is no object.
    public func find(_ names: JSONNames) -> JSONFound {
        JSONFound(names, in: self)
    }
}
