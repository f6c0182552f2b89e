import HeadgateData

/// A parameter of a method, or a member of an object in them: its name, what it may be, and what it means.
public struct Field<Value>: Sendable {
    /// What is told of it.
    public let member: Schema.Member
    /// Reads it out of the object that has it, or has not; nil where there is no object.
    public let read: @Sendable (JSONView?) throws(ParameterFault) -> Value

    /// A parameter that there has to be.
    public init(_ name: StaticString, _ shape: Shape<Value>, _ note: String? = nil) {
        member = .required(name.description, shape.schema, note)
        read = { object throws(ParameterFault) in
            guard let view = object?.member(name) else { throw ParameterFault("is missing").inside(name.description) }
            return try shape.read(view, as: name)
        }
    }

    /// A parameter that may be left out, and is nil then.
    public init<Wrapped>(optional name: StaticString, _ shape: Shape<Wrapped>, _ note: String? = nil)
    where Value == Wrapped? {
        member = .optional(name.description, shape.schema, note)
        read = { object throws(ParameterFault) in
            guard let view = object?.member(name) else { return nil }
            return try shape.read(view, as: name)
        }
    }

    /// A parameter that may be left out, and has its usual value then.
    /// - Parameter told: the usual value as it would stand in a message.
    public init(
        optional name: StaticString, _ shape: Shape<Value>, usually value: Value, told: DataItem, _ note: String? = nil
    ) where Value: Sendable {
        member = Schema.Member(name.description, shape.schema, isRequired: false, usual: told, note: note)
        read = { object throws(ParameterFault) in
            guard let view = object?.member(name) else { return value }
            return try shape.read(view, as: name)
        }
    }
}

extension Field where Value == Bool {
    /// Yes or no, and which of them it is when it is left out.
    public init(optional name: StaticString, usually value: Bool, _ note: String? = nil) {
        self.init(optional: name, .bool, usually: value, told: .bool(value), note)
    }
}

extension Field where Value == Int {
    /// A number, and which when it is left out.
    public init(optional name: StaticString, _ shape: Shape<Int>, usually value: Int, _ note: String? = nil) {
        self.init(optional: name, shape, usually: value, told: .number(DataNumber(value)), note)
    }
}

extension Field where Value == Duration {
    /// A time in milliseconds, and which when it is left out.
    public init(optional name: StaticString, _ shape: Shape<Duration>, usually value: Duration, _ note: String? = nil) {
        let milliseconds = Int(value / .milliseconds(1))
        self.init(optional: name, shape, usually: value, told: .number(DataNumber(milliseconds)), note)
    }
}

extension Field where Value: RawRepresentable<String> & CaseIterable & Sendable {
    /// A word, and which when it is left out.
    public init(optional name: StaticString, usually value: Value, _ note: String? = nil) {
        self.init(optional: name, .word, usually: value, told: .string(value.rawValue), note)
    }
}

extension Shape {
    fileprivate func read(_ view: JSONView, as name: StaticString) throws(ParameterFault) -> Value {
        do throws(ParameterFault) { return try read(view) } catch { throw error.inside(name.description) }
    }
}

/// What is wrong with a parameter, and where.
public struct ParameterFault: Error, Equatable {
    /// Relative to where reading began: `events[1].event`; empty for the value itself.
    public private(set) var path: String
    /// For people: `must be a string`.
    public let message: String

    public init(_ message: String, path: String = "") {
        self.path = path
        self.message = message
    }

    /// The same, told by who reads the object or array around it.
    /// - Parameter place: the name of the member, or the element as `[1]`.
    func inside(_ place: String) -> ParameterFault {
        ParameterFault(message, path: path.isEmpty || path.hasPrefix("[") ? place + path : "\(place).\(path)")
    }
}

extension RPCError {
    /// A parameter is missing or wrong, as the peer is told.
    public init(_ fault: ParameterFault) {
        self = .invalidParams(path: fault.path, fault.message)
    }
}
