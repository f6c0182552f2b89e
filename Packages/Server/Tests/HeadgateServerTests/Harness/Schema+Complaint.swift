import HeadgateData
import HeadgateWire

extension Schema {
    /// Returns the fault of a value with its path, or nil if the value fits the schema. An undeclared member is a
    /// fault, too, because the document must describe everything that is sent.
    func complaint(about value: DataItem) -> String? {
        switch (self, value) {
        case (.any, _), (.null, .null), (.bool, .bool), (.number, .number): nil
        case (.named(_, let schema), _): schema.complaint(about: value)
        case (.either(let schemas), _): Schema.complaint(schemas.map { $0.complaint(about: value) })
        case (.words(let words), .string(let word)): words.contains(word) ? nil : "is none of \(words)"
        case (.time, .string(let text)): Timestamp(rfc3339: text)?.text == text ? nil : "is no time: \(text)"
        case (.string(let least, let most), .string(let text)): Schema.complaint(text.utf8.count, least, most)
        case (.integer(let least, let most), .number(let number)):
            number.int.map { Schema.complaint($0, least, most) } ?? "is not whole"
        case (.array(let element, let least), .array(let items)): complaint(about: items, of: element, least)
        case (.dictionary(let schema), .object(let object)):
            object.lazy.compactMap { key, item in schema.complaint(about: item).map { "\(key) \($0)" } }.first
        case (.object(let members), .object(let object)): complaint(about: object, members)
        default: "is \(value), and not \(item)"
        }
    }

    private func complaint(about items: [DataItem], of element: Schema, _ least: Int) -> String? {
        if let complaint = Schema.complaint(items.count, least, nil) { return complaint }
        return items.lazy.compactMap { element.complaint(about: $0) }.first
    }

    private func complaint(about object: DataObject, _ members: [Member]) -> String? {
        for member in members {
            let value = object[member.name]
            if value == nil, member.isRequired { return "\(member.name) is missing" }
            if let value, let complaint = member.schema.complaint(about: value) { return "\(member.name) \(complaint)" }
        }
        let names = Set(members.map(\.name))
        return object.keys.first { !names.contains($0) }.map { "\($0) is not declared" }
    }

    /// Returns nil if one of several schemas fits.
    private static func complaint(_ complaints: [String?]) -> String? {
        complaints.contains(nil) ? nil : complaints.compactMap(\.self).joined(separator: "; or ")
    }

    private static func complaint(_ number: Int, _ least: Int?, _ most: Int?) -> String? {
        number >= least ?? .min && number <= most ?? .max ? nil : "is out of bounds: \(number)"
    }
}
