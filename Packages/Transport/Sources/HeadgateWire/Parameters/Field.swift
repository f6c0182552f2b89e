import HeadgateData

/// A parameter of a method, or a member of an object in the params: its name, its shape and its meaning.
public struct Field<Value>: Sendable {
    /// The description of the member.
    public let member: Schema.Member
    /// Reads the value from its object, from which it may be missing. The object is nil if the params are absent.
    public let read: @Sendable (JSONView?) throws(ParameterFault) -> Value

    /// Creates a required parameter.
    public init(_ name: StaticString, _ shape: Shape<Value>, _ note: String? = nil) {
        member = .required(name.description, shape.schema, note)
        read = { object throws(ParameterFault) in
            guard let view = object?.member(name) else { throw ParameterFault("is missing").inside(name.description) }
            return try shape.read(view, as: name)
        }
    }

    /// Creates an optional parameter, which is nil if it is absent.
    public init<Wrapped>(optional name: StaticString, _ shape: Shape<Wrapped>, _ note: String? = nil)
    where Value == Wrapped? {
        member = .optional(name.description, shape.schema, note)
        read = { object throws(ParameterFault) in
            guard let view = object?.member(name) else { return nil }
            return try shape.read(view, as: name)
        }
    }

    /// Creates an optional parameter with a default.
    /// - Parameters:
    ///   - name: the name.
    ///   - shape: the shape of the value.
    ///   - value: the default.
    ///   - item: the default as JSON, for the schema.
    ///   - note: the meaning, if the name does not say it.
    public init(
        optional name: StaticString, _ shape: Shape<Value>, default value: Value, asItem item: DataItem,
        _ note: String? = nil
    ) where Value: Sendable {
        member = Schema.Member(name.description, shape.schema, isRequired: false, defaultValue: item, note: note)
        read = { object throws(ParameterFault) in
            guard let view = object?.member(name) else { return value }
            return try shape.read(view, as: name)
        }
    }
}

extension Field where Value == Bool {
    /// Creates an optional Boolean parameter with a default.
    public init(optional name: StaticString, default value: Bool, _ note: String? = nil) {
        self.init(optional: name, .bool, default: value, asItem: .bool(value), note)
    }
}

extension Field where Value == Int {
    /// Creates an optional number with a default.
    public init(optional name: StaticString, _ shape: Shape<Int>, default value: Int, _ note: String? = nil) {
        self.init(optional: name, shape, default: value, asItem: .number(DataNumber(value)), note)
    }
}

extension Field where Value == Duration {
    /// Creates an optional time in milliseconds with a default.
    public init(optional name: StaticString, _ shape: Shape<Duration>, default value: Duration, _ note: String? = nil) {
        let milliseconds = Int(value / .milliseconds(1))
        self.init(optional: name, shape, default: value, asItem: .number(DataNumber(milliseconds)), note)
    }
}

extension Field where Value: RawRepresentable<String> & CaseIterable & Sendable {
    /// Creates an optional word with a default.
    public init(optional name: StaticString, default value: Value, _ note: String? = nil) {
        self.init(optional: name, .word, default: value, asItem: .string(value.rawValue), note)
    }
}

extension Shape {
    fileprivate func read(_ view: JSONView, as name: StaticString) throws(ParameterFault) -> Value {
        do throws(ParameterFault) { return try read(view) } catch { throw error.inside(name.description) }
    }
}

/// A fault of a parameter, with its path.
public struct ParameterFault: Error, Equatable {
    /// The path relative to the value that is read: `events[1].event`; empty for the value itself.
    public private(set) var path: String
    /// The problem, for people: `must be a string`.
    public let message: String

    public init(_ message: String, path: String = "") {
        self.path = path
        self.message = message
    }

    /// Returns the fault with a path relative to the surrounding object or array.
    /// - Parameter parent: the name of the member, or the element as `[1]`.
    func inside(_ parent: String) -> ParameterFault {
        ParameterFault(message, path: path.isEmpty || path.hasPrefix("[") ? parent + path : "\(parent).\(path)")
    }
}

extension RPCError {
    /// Creates the error for a missing or wrong parameter.
    public init(_ fault: ParameterFault) {
        self = .invalidParams(path: fault.path, fault.message)
    }
}
