/// Reads the params of a method that is not on the hot path.
///
/// What is missing or wrong, a null where there should be a value too, is an error of code -32602 that tells the path.
/// Members that nobody asks for are ignored. Valid as long as the line the params come from.
public struct ParameterReader {
    private let object: JSONView?
    private let path: String

    /// For the params of a request; nil when it has none.
    public init(_ params: JSONView?) {
        self.init(object: params, path: "")
    }

    private init(object: JSONView?, path: String) {
        self.object = object
        self.path = path
    }

    /// Whether there is a member of this name, even if it is null.
    public func has(_ name: StaticString) -> Bool {
        object?.member(name) != nil
    }

    /// A member that there has to be.
    public func required<T: ParameterValue>(_ name: StaticString, as type: T.Type = T.self) throws(RPCError) -> T {
        try value(try view(name), path: path(to: name))
    }

    /// A member; nil when there is none.
    public func optional<T: ParameterValue>(_ name: StaticString, as type: T.Type = T.self) throws(RPCError) -> T? {
        guard let view = object?.member(name) else { return nil }
        return try value(view, path: path(to: name))
    }

    /// A whole number within a range; nil when there is none.
    public func optional(_ name: StaticString, in range: some RangeExpression<Int>) throws(RPCError) -> Int? {
        guard let number = try optional(name, as: Int.self) else { return nil }
        guard range.contains(number) else { throw fault(name, "out of range") }
        return number
    }

    /// An array that there has to be.
    public func requiredArray<T: ParameterValue>(
        _ name: StaticString, of type: T.Type = T.self
    ) throws(RPCError) -> [T] {
        try array(try view(name), name)
    }

    /// An array; nil when there is none.
    public func optionalArray<T: ParameterValue>(
        _ name: StaticString, of type: T.Type = T.self
    ) throws(RPCError) -> [T]? {
        guard let view = object?.member(name) else { return nil }
        return try array(view, name)
    }

    /// A reader for a member that is an object and that there has to be.
    public func requiredObject(_ name: StaticString) throws(RPCError) -> ParameterReader {
        try reader(try view(name), path: path(to: name))
    }

    /// A reader for a member that is an object; nil when there is none.
    public func optionalObject(_ name: StaticString) throws(RPCError) -> ParameterReader? {
        guard let view = object?.member(name) else { return nil }
        return try reader(view, path: path(to: name))
    }

    /// Readers for the objects of an array that there has to be.
    public func requiredObjects(_ name: StaticString) throws(RPCError) -> [ParameterReader] {
        var readers: [ParameterReader] = []
        for (index, element) in try elements(try view(name), name).enumerated() {
            readers.append(try reader(element, path: "\(path(to: name))[\(index)]"))
        }
        return readers
    }

    /// The error for a member with a value that it may not have.
    public func fault(_ name: StaticString, _ message: String) -> RPCError {
        .invalidParams(path: path(to: name), message)
    }

    private func view(_ name: StaticString) throws(RPCError) -> JSONView {
        guard let view = object?.member(name) else { throw fault(name, "is missing") }
        return view
    }

    private func value<T: ParameterValue>(
        _ view: JSONView, path: @autoclosure () -> String
    ) throws(RPCError) -> T {
        guard let value = T(parameter: view) else { throw .invalidParams(path: path(), T.expectation) }
        return value
    }

    private func array<T: ParameterValue>(_ view: JSONView, _ name: StaticString) throws(RPCError) -> [T] {
        var values: [T] = []
        for (index, element) in try elements(view, name).enumerated() {
            values.append(try value(element, path: "\(path(to: name))[\(index)]"))
        }
        return values
    }

    private func elements(_ view: JSONView, _ name: StaticString) throws(RPCError) -> JSONElements {
        guard let elements = view.elements else { throw fault(name, "must be an array") }
        return elements
    }

    private func reader(_ view: JSONView, path: String) throws(RPCError) -> ParameterReader {
        guard view.kind == .object else { throw .invalidParams(path: path, "must be an object") }
        return ParameterReader(object: view, path: path)
    }

    private func path(to name: StaticString) -> String {
        path.isEmpty ? name.description : "\(path).\(name)"
    }
}
