import HeadgateData

/// A type whose values convert to and from a single JSON value without a coder.
protocol PlainValue: Codable, DataItemConvertible {
    /// The JSON value; nil if JSON has no form for it, such as an infinite number.
    var plainItem: DataItem? { get }
    /// True if values of the type are JSON numbers. A number may be out of the type's range.
    static var isNumber: Bool { get }
}

extension PlainValue {
    static var isNumber: Bool { false }
}

extension Bool: PlainValue {
    var plainItem: DataItem? { .bool(self) }
}

extension String: PlainValue {
    var plainItem: DataItem? { .string(self) }
}

extension DataItem: PlainValue {
    var plainItem: DataItem? { self }
}

extension DataObject: PlainValue {
    var plainItem: DataItem? { .object(self) }
}

extension DataNumber: PlainValue {
    var plainItem: DataItem? { .number(self) }
    static var isNumber: Bool { true }
}

extension PlainValue where Self: FixedWidthInteger {
    var plainItem: DataItem? { .number(DataNumber(self)) }
    static var isNumber: Bool { true }
}

extension Int: PlainValue {}
extension Int8: PlainValue {}
extension Int16: PlainValue {}
extension Int32: PlainValue {}
extension Int64: PlainValue {}
extension Int128: PlainValue {}
extension UInt: PlainValue {}
extension UInt8: PlainValue {}
extension UInt16: PlainValue {}
extension UInt32: PlainValue {}
extension UInt64: PlainValue {}
extension UInt128: PlainValue {}

extension Double: PlainValue {
    var plainItem: DataItem? { isFinite ? .number(DataNumber(self)) : nil }
    static var isNumber: Bool { true }
}

extension Float: PlainValue {
    var plainItem: DataItem? { isFinite ? .number(DataNumber(unchecked: description)) : nil }
    static var isNumber: Bool { true }
}
