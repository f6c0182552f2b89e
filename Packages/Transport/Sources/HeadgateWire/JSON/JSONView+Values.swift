internal import CSimdjson
import HeadgateData

extension JSONView {
    /// The value of `true` or `false`; nil when this is neither.
    public var bool: Bool? {
        kind == .bool ? raw.first == UInt8(ascii: "t") : nil
    }

    /// A number as it was written; nil when this is none.
    public var number: DataNumber? {
        kind == .number ? DataNumber(unchecked: String(decoding: raw, as: UTF8.self)) : nil
    }

    /// A whole number; nil when this is none, or too large. `7.0` and `7e2` are whole numbers too.
    public var int: Int64? {
        guard kind == .number else { return nil }
        return shortWholeNumber ?? number?.int.map(Int64.init)
    }

    /// The value, copied out of the text. Of several members with one name the last counts, in the place of the first.
    public var item: DataItem {
        switch kind {
        case .null: .null
        case .bool: .bool(bool == true)
        case .number: .number(DataNumber(unchecked: String(decoding: raw, as: UTF8.self)))
        case .string: .string(string ?? "")
        case .array: .array(JSONElements(container: self).map(\.item))
        case .object: .object(DataObject(self))
        }
    }

    /// A number of up to 18 digits and nothing else, which can neither overflow nor needs a string to be read.
    private var shortWholeNumber: Int64? {
        let isNegative = raw.first == UInt8(ascii: "-")
        let digits = raw.dropFirst(isNegative ? 1 : 0)
        guard digits.count <= 18 else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard 0x30...0x39 ~= digit else { return nil }
            value = value * 10 + Int64(digit - 0x30)
        }
        return isNegative ? -value : value
    }
}

extension DataObject {
    /// The members of an object, copied out of the text; none when it is no object.
    public init(_ view: JSONView) {
        self.init(JSONMembers(container: view).lazy.map { ($0.key.string ?? "", $0.value.item) })
    }
}
