/// What is bound to a parameter of a statement.
enum SQLiteValue {
    case null
    case number(Int64)
    case text(String)
    case blob([UInt8])

    static func integer(_ value: some BinaryInteger) -> SQLiteValue {
        .number(Int64(truncatingIfNeeded: value))
    }

    /// NULL for nil.
    static func optional(_ value: (some BinaryInteger)?) -> SQLiteValue {
        value.map { .integer($0) } ?? .null
    }

    /// NULL for nil.
    static func optional(_ value: String?) -> SQLiteValue {
        value.map { .text($0) } ?? .null
    }
}
