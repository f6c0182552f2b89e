/// Any JSON value.
public enum DataItem: Sendable, Equatable {
    /// JSON's `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number with all its digits.
    case number(DataNumber)
    /// A string, unescaped.
    case string(String)
    /// Values in their order.
    case array([DataItem])
    /// Members in their order.
    case object(DataObject)

    /// The value as a `T`; nil when it is something else.
    public func get<T: DataItemConvertible>(as type: T.Type = T.self) -> T? {
        T(dataItem: self)
    }

    /// Whether this is JSON's `null`.
    public var isNull: Bool {
        self == .null
    }

    /// The value as JSON text, without spaces.
    public var json: String {
        var writer = JSONWriter()
        writer.item(self)
        return writer.text
    }
}
