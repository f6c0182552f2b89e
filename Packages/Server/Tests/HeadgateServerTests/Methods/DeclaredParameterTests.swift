import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateServer

/// Compares the declared parameters with what the server accepts: neither the document nor a method that reads its
/// parameters itself may promise anything else.
@Suite("Declared parameters", .timeLimit(.minutes(5))) struct DeclaredParameterTests {
    @Test(
        "A parameter is accepted at both bounds, and may be absent if declared so; in objects and arrays, too"
    )
    func taken() async throws {
        try await calling { method, call in
            // `store.erase` is left out: its rule has a grammar, so a value that fits the schema may be refused.
            for part in method.parts where "\(method.name)" != "store.erase" {
                let reported = "\(method.name): \(part.path)"
                for value in part.schema.right {
                    let refusal = try await call(method.params(with: part, being: value))
                    // IDs of missing dispatchers fit the schema, and are refused all the same.
                    if part.path.hasSuffix("dispatchers[0]"), value != "archive" { continue }
                    // A time is a number or one of several texts, so its schema takes anything.
                    if "\(method.name)" == "dispatcher.rewind", part.path == "to" { continue }
                    #expect(refusal?.path.map { !$0.hasPrefix(part.path) } ?? true, "\(reported): \(value)")
                }
                guard let isRequired = part.isRequired, part.path != "dry_run" else { continue }
                let without = try await call(method.params(with: part, being: nil))
                #expect(without?.path == (isRequired ? part.path : nil), "\(reported) left out")
            }
        }
    }

    @Test("The wrong type of a parameter, and a value just out of its bounds, is -32602 with the path")
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

    @Test("The default of a parameter has the parameter's own schema")
    func defaultValue() async throws {
        try await calling { method, call in
            for part in method.parts where "\(method.name)" != "store.erase" {
                guard let defaultValue = part.defaultValue, part.path != "dry_run" else { continue }
                let refusal = try await call(method.params(with: part, being: defaultValue))
                #expect(refusal?.path == nil, "\(method.name): \(part.path): \(defaultValue)")
            }
        }
    }

    /// Calls a method with params. Returns its refusal, or nil if there is none.
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

    /// Returns the refusal of a call, or nil. Wrong params are refused before any other work, so the refusal is there
    /// when a later `ping` is answered.
    private static func refusal(of method: Method, _ params: DataObject, by client: LineClient) async throws -> Refusal?
    {
        let id = await client.request(method.name.description, params)
        try await client.call("ping")
        guard await client.hasAnswer(to: id) else { return nil }
        let error = try await client.message(to: id)["error"]
        return error == .null ? nil : Refusal(error)
    }
}

/// A parameter, or a part of one.
private struct Part {
    let schema: Schema
    /// Nil for an element of an array, which has no name.
    var isRequired: Bool?
    var defaultValue: DataItem?
    let steps: [Step]

    /// The path in an error: `events[0].event`.
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

    /// Returns params with all required members and this value for one part. With nil, that part is left out.
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

    /// Returns a value that fits the schema, except for the part that the steps lead to.
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

    /// Values that fit the schema: the usual one first, then those at its bounds.
    fileprivate var right: [DataItem] {
        switch self {
        case .any: ["archive", .null, [1]]
        // The ID of an existing dispatcher.
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

    /// Values that do not fit the schema, among them those next to its bounds.
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

    /// Returns texts of these sizes in bytes. Negative sizes are left out.
    private static func texts(_ counts: [Int?]) -> [DataItem] {
        counts.compactMap(\.self).filter { $0 >= 0 }.map { .string(String(repeating: "x", count: $0)) }
    }
}
