import HeadgateData

/// The path of a value in an event: `event`, `context.uid`, `data.user.id`, `data.items.0.price`.
///
/// Names are separated by dots. A dot within a name is written `\.`, and a backslash `\\`. A path that does not begin
/// with a member of the event is within its data: `plan` is short for `data.plan`.
public struct EventPath: Sendable, Equatable {
    /// The member of the event in which the path begins.
    public let member: EventMember
    /// The names after the member. A whole number also selects an element of an array, from 0.
    public let names: [String]

    public init(_ text: String) {
        let all = EventPath.split(text)
        if let member = EventMember(rawValue: all[0]) {
            self.member = member
            names = Array(all.dropFirst())
        } else {
            member = .data
            names = all
        }
    }

    /// The path in its notation.
    var text: String { ([member.rawValue] + names.map(EventPath.escaped)).joined(separator: ".") }

    private static func escaped(_ name: String) -> String {
        name.unicodeScalars.reduce(into: "") { text, scalar in
            if scalar == "." || scalar == "\\" { text += "\\" }
            text.unicodeScalars.append(scalar)
        }
    }

    /// Names are compared by their bytes.
    public static func == (left: EventPath, right: EventPath) -> Bool {
        left.member == right.member && left.names.elementsEqual(right.names) { ExactName($0) == ExactName($1) }
    }

    /// Returns the index of an array's element that a name selects, or nil if there is none. The name must be a whole
    /// number as JSON writes it.
    public static func index(named name: String, in count: Int) -> Int? {
        guard let index = Int(name), String(index) == name, (0..<count).contains(index) else { return nil }
        return index
    }

    /// Splits a path into at least one name, which may be empty.
    private static func split(_ text: String) -> [String] {
        var names = [""]
        var isEscaped = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\" where !isEscaped:
                isEscaped = true
                continue
            case "." where !isEscaped: names.append("")
            default: names[names.count - 1].unicodeScalars.append(scalar)
            }
            isEscaped = false
        }
        return names
    }
}

extension EventPath: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) {
        self.init(value)
    }
}

/// The members of a delivered event.
public enum EventMember: String, Sendable, CaseIterable {
    case id
    /// The sequence number, which is unknown before the event is stored.
    case sequenceNumber = "seq"
    case event
    case time
    case receivedAt = "received_at"
    case key
    /// The attempt, which is unknown before the event is sent.
    case attempt
    case context
    case data
}

/// An event whose values conditions can read, without copying or parsing all of it.
public protocol EventFields {
    /// Returns the value at a path, or nil if there is none.
    func value(at path: EventPath) -> FieldValue?
}

/// A value of an event, as far as conditions need it.
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
