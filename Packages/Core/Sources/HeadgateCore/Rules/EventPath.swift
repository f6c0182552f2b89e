import HeadgateData

/// A place in an event: `event`, `context.uid`, `data.user.id`, `data.items.0.price`.
///
/// The names are separated by dots; a dot that belongs to a name is written `\.` and a backslash `\\`. A path that does
/// not begin with one of the event's own members lies in its data: `plan` is short for `data.plan`.
public struct EventPath: Sendable, Equatable {
    /// The event's member in which the path begins.
    public let member: EventMember
    /// The names that lead on from there. A whole number also leads to that element of an array, from 0.
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

    /// The element of an array of so many that a name stands for: a whole number as JSON writes it; nil for no such one.
    public static func index(named name: String, in count: Int) -> Int? {
        guard let index = Int(name), String(index) == name, (0..<count).contains(index) else { return nil }
        return index
    }

    /// One name at least, which may be empty.
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
    /// Not known before the event is stored.
    case sequenceNumber = "seq"
    case event
    case time
    case receivedAt = "received_at"
    case key
    /// Not known before the event is sent.
    case attempt
    case context
    case data
}

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
