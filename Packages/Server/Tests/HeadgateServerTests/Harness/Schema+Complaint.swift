import HeadgateData
import HeadgateWire

extension Schema {
    /// Returns a description of the first fault of a value, with its path, or nil if the value fits the schema. An
    /// undeclared member is a fault, because the OpenRPC document must describe every member that is sent.
    func problem(about value: DataItem) -> String? {
        switch (self, value) {
        case (.any, _), (.null, .null), (.bool, .bool), (.number, .number): nil
        case (.named(_, let schema), _): schema.problem(about: value)
        case (.either(let schemas), _): Schema.problem(schemas.map { $0.problem(about: value) })
        case (.words(let words), .string(let word)): words.contains(word) ? nil : "is none of \(words)"
        case (.time, .string(let text)): Timestamp(rfc3339: text)?.text == text ? nil : "is no time: \(text)"
        case (.string(let least, let most), .string(let text)): Schema.problem(text.utf8.count, least, most)
        case (.integer(let least, let most), .number(let number)):
            number.int.map { Schema.problem($0, least, most) } ?? "is not whole"
        case (.array(let element, let least), .array(let items)): problem(about: items, of: element, least)
        case (.dictionary(let schema), .object(let object)):
            object.lazy.compactMap { key, item in schema.problem(about: item).map { "\(key) \($0)" } }.first
        case (.object(let members), .object(let object)): problem(about: object, members)
        default: "is \(value), and not \(item)"
        }
    }

    private func problem(about items: [DataItem], of element: Schema, _ least: Int) -> String? {
        if let problem = Schema.problem(items.count, least, nil) { return problem }
        return items.lazy.compactMap { element.problem(about: $0) }.first
    }

    private func problem(about object: DataObject, _ members: [Member]) -> String? {
        for member in members {
            let value = object[member.name]
            if value == nil, member.isRequired { return "\(member.name) is missing" }
            if let value, let problem = member.schema.problem(about: value) { return "\(member.name) \(problem)" }
        }
        let names = Set(members.map(\.name))
        return object.keys.first { !names.contains($0) }.map { "\($0) is not declared" }
    }

    /// Joins the faults of alternative schemas. Returns nil if one of the schemas fits.
    private static func problem(_ problems: [String?]) -> String? {
        problems.contains(nil) ? nil : problems.compactMap(\.self).joined(separator: "; or ")
    }

    private static func problem(_ number: Int, _ least: Int?, _ most: Int?) -> String? {
        number >= least ?? .min && number <= most ?? .max ? nil : "is out of bounds: \(number)"
    }
}
