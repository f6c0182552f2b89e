import HeadgateData

/// An event that conditions can look into, without its being copied or read as a whole.
public protocol EventFields {
    /// What stands at a path; nil when nothing does.
    func value(at path: EventPath) -> FieldValue?
}

/// A value in an event, as far as conditions look at it.
public enum FieldValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(DataNumber)
    case string(String)
    case array(isEmpty: Bool)
    case object(isEmpty: Bool)

    public init(_ item: DataItem) {
        switch item {
        case .null: self = .null
        case .bool(let bool): self = .bool(bool)
        case .number(let number): self = .number(number)
        case .string(let string): self = .string(string)
        case .array(let items): self = .array(isEmpty: items.isEmpty)
        case .object(let object): self = .object(isEmpty: object.isEmpty)
        }
    }
}
