import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateServer

/// Compares the declared parameters of each method with the values that the server accepts and refuses, because
/// methods read their parameters separately from the declaration.
@Suite("Declared parameters", .timeLimit(.minutes(5))) struct DeclaredParameterTests {
    @Test(
        "Each parameter, also inside objects and arrays, is accepted at both bounds, and may be absent if not required"
    )
    func taken() async throws {
        try await calling { method, call in
            // `store.erase` is left out: its rule has a grammar, so a value that fits the schema may be refused.
            for part in method.parts where "\(method.name)" != "store.erase" {
                let reported = "\(method.name): \(part.path)"
                for value in part.schema.right {
                    let refusal = try await call(method.params(with: part, being: value))
                    // IDs of dispatchers that do not exist fit the schema, but are refused.
                    if part.path.hasSuffix("dispatchers[0]"), value != "archive" { continue }
                    // The schema of `to` allows any value, because a time is a number or one of several texts.
                    if "\(method.name)" == "dispatcher.rewind", part.path == "to" { continue }
                    #expect(refusal?.path.map { !$0.hasPrefix(part.path) } ?? true, "\(reported): \(value)")
                }
                guard let isRequired = part.isRequired, part.path != "dry_run" else { continue }
                let without = try await call(method.params(with: part, being: nil))
                #expect(without?.path == (isRequired ? part.path : nil), "\(reported) is absent")
            }
        }
    }

    @Test("A value of a wrong type or just outside of its bounds is refused with code -32602 and the path")
    func refused() async throws {
        try await calling { method, call in
            for part in method.parts {
                // `dispatcher.rewind` checks `to` first, and may refuse any value that fits the schema of `to`.
                for value in part.schema.wrong where part.path != "dry_run" || "\(method.name)" != "dispatcher.rewind" {
                    let reported = "\(method.name): \(part.path): \(value)"
                    let refusal = try await call(method.params(with: part, being: value))
                    #expect(refusal?.code == RPCError.invalidParamsCode && refusal?.path == part.path, "\(reported)")
                }
            }
        }
    }

    @Test("The default of each parameter is accepted as a value")
    func defaultValue() async throws {
        try await calling { method, call in
            for part in method.parts where "\(method.name)" != "store.erase" {
                guard let defaultValue = part.defaultValue, part.path != "dry_run" else { continue }
                let refusal = try await call(method.params(with: part, being: defaultValue))
                #expect(refusal?.path == nil, "\(method.name): \(part.path): \(defaultValue)")
            }
        }
    }

    /// A function that calls a method with params. Returns the refusal, or nil if the call is not refused.
    private typealias Calling = (DataObject) async throws -> Refusal?

    /// Runs `body` for every method.
    private func calling(_ body: (Method, Calling) async throws -> Void) async throws {
        try await ServiceStage.run { stage in
            let defaultValue = try await stage.client()
            for method in MethodTable.all {
                try await body(method) { params in
                    // `hello` must be the first request of a connection.
                    let client = method.name.description == "hello" ? try await stage.client() : defaultValue
                    return try await Self.refusal(of: method, params, by: client)
                }
            }
        }
    }

    /// Calls a method. Returns the refusal, or nil. Invalid params are refused before any other work, so a refusal has
    /// arrived when a later `ping` is answered.
    private static func refusal(of method: Method, _ params: DataObject, by client: LineClient) async throws -> Refusal?
    {
        let id = await client.request(method.name.description, params)
        try await client.call("ping")
        guard await client.hasAnswer(to: id) else { return nil }
        let error = try await client.message(to: id)["error"]
        return error == .null ? nil : Refusal(error)
    }
}

/// A parameter, or a member or element inside of one.
private struct Part {
    let schema: Schema
    /// Nil for an element of an array, which has no name.
    var isRequired: Bool?
    var defaultValue: DataItem?
    let steps: [Step]

    /// The path as errors write it, for example `events[0].event`.
    var path: String {
        steps.reduce("") { path, step in
            switch step {
            case .member(let name): path.isEmpty ? name : "\(path).\(name)"
            case .element: path + "[0]"
            }
        }
    }

    /// A step from an object to a member, or from an array to its only element.
    enum Step: Equatable {
        case member(String)
        case element
    }
}

extension Method {
    fileprivate var parts: [Part] {
        Schema.object(params).parts([])
    }

    /// Returns params with all required members and this value for one part. If the value is nil, the part is absent.
    fileprivate func params(with part: Part, being value: DataItem?) -> DataObject {
        guard case .object(let params) = Schema.object(params).sample(part.steps[...], value) else { return [:] }
        return params
    }
}

extension Schema {
    fileprivate func parts(_ steps: [Part.Step]) -> [Part] {
        switch self {
        case .object(let members):
            members.flatMap { member in
                let inside = steps + [.member(member.name)]
                let part = Part(
                    schema: member.schema, isRequired: member.isRequired, defaultValue: member.defaultValue,
                    steps: inside)
                return [part] + member.schema.parts(inside)
            }
        case .array(let element, _):
            [Part(schema: element, steps: steps + [.element])] + element.parts(steps + [.element])
        case .named(_, let schema): schema.parts(steps)
        case .either(let schemas): schemas.flatMap { $0.parts(steps) }
        default: []
        }
    }

    /// Returns a value that fits the schema, with `value` at the end of the steps, or without that part if it is nil.
    fileprivate func sample(_ steps: ArraySlice<Part.Step>, _ value: DataItem?) -> DataItem? {
        guard let step = steps.first else { return value }
        let rest = steps.dropFirst()
        switch (self, step) {
        case (.object(let members), _):
            var object = DataObject()
            for member in members where member.isRequired || step == .member(member.name) {
                let isOnPath = step == .member(member.name)
                object[member.name] = isOnPath ? member.schema.sample(rest, value) : member.schema.right[0]
            }
            return .object(object)
        case (.array(let element, _), .element): return .array([element.sample(rest, value)].compactMap(\.self))
        case (.named(_, let schema), _): return schema.sample(steps, value)
        case (.either(let schemas), _): return schemas.lazy.compactMap { $0.sample(steps, value) }.first
        default: return nil
        }
    }

    /// Values that fit the schema: first a typical one, then values at the bounds.
    fileprivate var right: [DataItem] {
        switch self {
        case .any: ["archive", .null, [1]]
        // `archive` is the ID of an existing dispatcher.
        case .string(let least, let most): ["archive"] + Schema.texts([least, most])
        case .time: ["2026-01-02T03:04:05.678Z"]
        case .null: [.null]
        case .bool: [true, false]
        case .integer(let least, let most):
            [.number(DataNumber(least ?? 1))] + (most.map { [.number(DataNumber($0))] } ?? [])
        case .number: [1.5]
        case .words(let words): words.map { .string($0) }
        case .object(let members):
            [.object(DataObject(members.filter(\.isRequired).map { ($0.name, $0.schema.right[0]) }))]
        case .dictionary: [[:]]
        case .array(let element, let least): [[element.right[0]]] + (least == 0 ? [[]] : [])
        case .either(let schemas): schemas.flatMap(\.right)
        case .named(_, let schema): schema.right
        }
    }

    /// Values that do not fit the schema, including those just outside of its bounds.
    fileprivate var wrong: [DataItem] {
        switch self {
        case .any: []
        case .null: [0]
        case .bool: ["yes", 1, .null]
        case .string(let least, let most): [-1, .null] + Schema.texts([least - 1, most.map { $0 + 1 }])
        case .integer(let least, let most):
            ["1", 1.5, .null] + [least.map { $0 - 1 }, most.map { $0 + 1 }].compactMap(\.self).map(Schema.number)
        case .number: ["1", .null]
        case .words, .time: [-1, "", .null]
        case .array(_, let least): [-1, .null] + (least > 0 ? [[]] : [])
        case .either(let schemas): schemas.contains { if case .null = $0 { true } else { false } } ? [-1] : [-1, .null]
        case .object, .dictionary: [-1, .null]
        case .named(_, let schema): schema.wrong
        }
    }

    private static func number(_ number: Int) -> DataItem {
        .number(DataNumber(number))
    }

    /// Returns texts of these sizes in bytes. Skips nil and negative sizes.
    private static func texts(_ counts: [Int?]) -> [DataItem] {
        counts.compactMap(\.self).filter { $0 >= 0 }.map { .string(String(repeating: "x", count: $0)) }
    }
}
