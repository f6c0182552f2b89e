extension JSONWriter {
    /// Writes any value.
    public mutating func item(_ value: DataItem) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .number(let value): number(value)
        case .string(let value): string(value)
        case .array(let value): array(value)
        case .object(let value): object(value)
        }
    }

    /// Writes an object, its members in their order (Behaviour P6).
    public mutating func object(_ value: DataObject) {
        beginObject()
        for (key, value) in value {
            member(key: key)
            item(value)
        }
        endObject()
    }

    /// Writes an array of any values.
    public mutating func array(_ values: [DataItem]) {
        beginArray()
        for value in values {
            element()
            item(value)
        }
        endArray()
    }
}
