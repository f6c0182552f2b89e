import HeadgateData

/// One form for all ways to write the same JSON value: members sorted by their names' bytes, numbers by their value
/// (Behaviour A3). It is for comparing only: numbers are not written as JSON has them.
struct CanonicalJSON: Hashable {
    let bytes: [UInt8]

    init(_ value: DataItem) {
        var writer = JSONWriter()
        writer.canonical(value)
        bytes = writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func canonical(_ value: DataItem) {
        switch value {
        case .null, .bool, .string: item(value)
        case .number(let number): raw(ExactDecimal(number).canonical)
        case .array(let items): canonical(items)
        case .object(let object): canonical(object)
        }
    }

    private mutating func canonical(_ items: [DataItem]) {
        beginArray()
        for item in items {
            element()
            canonical(item)
        }
        endArray()
    }

    private mutating func canonical(_ object: DataObject) {
        beginObject()
        for (key, value) in object.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            member(key: key)
            canonical(value)
        }
        endObject()
    }
}

extension ExactDecimal {
    /// The same bytes for the same value, however it was written: `-25e3` is −0.25 · 10³.
    fileprivate var canonical: [UInt8] {
        guard !digits.isEmpty else { return [UInt8(ascii: "0")] }
        let sign = isNegative ? [UInt8(ascii: "-")] : []
        return sign + digits + Array("e\(exponent)".utf8)
    }
}
