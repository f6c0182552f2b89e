import HeadgateData

/// JSON with a line for each member, for people.
enum IndentedJSON {
    /// A value, with LF at its end.
    static func text(_ item: DataItem) -> String {
        text(item, indent: "") + "\n"
    }

    private static func text(_ item: DataItem, indent: String) -> String {
        let inner = indent + "  "
        switch item {
        case .object(let object) where !object.isEmpty:
            let members = object.map { "\(inner)\(DataItem.string($0.key).json): \(text($0.value, indent: inner))" }
            return "{\n\(members.joined(separator: ",\n"))\n\(indent)}"
        case .array(let items) where items.contains(where: isContainer):
            let elements = items.map { inner + text($0, indent: inner) }
            return "[\n\(elements.joined(separator: ",\n"))\n\(indent)]"
        case .array(let items):
            return "[" + items.map(\.json).joined(separator: ", ") + "]"
        default: return item.json
        }
    }

    private static func isContainer(_ item: DataItem) -> Bool {
        switch item {
        case .object, .array: true
        case .null, .bool, .number, .string: false
        }
    }
}
