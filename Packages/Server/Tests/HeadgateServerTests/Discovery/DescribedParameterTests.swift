import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateServer

/// What `rpc.discover` says of parameters, held against what the server takes.
@Suite("Described parameters", .timeLimit(.minutes(5))) struct DescribedParameterTests {
    @Test("A parameter is taken as it is described, and may be left out where that is said; in objects, too")
    func taken() async throws {
        try await calling { method, call in
            for place in method.places {
                let told = "\(method.name): \(place.path)"
                let refusal = try await call(method.params(with: place, being: place.member.schema.sample))
                #expect(refusal?.path == nil, "\(told)")
                let without = try await call(method.params(with: place, being: nil))
                #expect(without?.path == (place.member.isRequired ? place.path : nil), "\(told) left out")
            }
        }
    }

    @Test("The wrong type of a parameter, and a number that is too small or too large, is -32602 with the path")
    func refused() async throws {
        try await calling { method, call in
            for place in method.places {
                for value in place.member.schema.wrong {
                    let told = "\(method.name): \(place.path): \(value)"
                    let refusal = try await call(method.params(with: place, being: value))
                    // Another protocol is understood, and not spoken.
                    if method.name == "hello", place.path == "protocol", refusal?.reason == "conflict" { continue }
                    #expect(refusal?.code == RPCError.invalidParamsCode && refusal?.path == place.path, "\(told)")
                }
            }
        }
    }

    /// How a method with these params is refused; nil when it is not.
    private typealias Calling = (DataObject) async throws -> Refusal?

    /// Has every method called.
    private func calling(_ body: (MethodDescription, Calling) async throws -> Void) async throws {
        try await ServiceStage.run { stage in
            let usual = try await stage.client()
            for method in MethodDescription.all {
                try await body(method) { params in
                    // Nothing comes before `hello`.
                    let client = method.name == "hello" ? try await stage.client() : usual
                    do {
                        try await client.call(method.name, params)
                        return nil
                    } catch let refusal as Refusal {
                        return refusal
                    }
                }
            }
        }
    }
}

/// A parameter, or a member of an object in the params.
private struct Place {
    let member: Schema.Member
    /// The members' names, from the outermost on.
    let names: [String]
    /// As an error tells it: `events[0].event`.
    let path: String
}

extension MethodDescription {
    fileprivate var places: [Place] {
        Schema.object(params).places(names: [], path: "")
    }

    /// Params with what has to be there, and at one place this; nil: it is left out there.
    fileprivate func params(with place: Place, being value: DataItem?) -> DataObject {
        guard case .object(let params) = Schema.object(params).sample(place.names[...], value) else { return [:] }
        return params
    }
}

extension Schema {
    fileprivate func places(names: [String], path: String) -> [Place] {
        switch self {
        case .object(let members):
            members.flatMap { member in
                let place = Place(
                    member: member, names: names + [member.name],
                    path: path.isEmpty ? member.name : "\(path).\(member.name)")
                return [place] + member.schema.places(names: place.names, path: place.path)
            }
        case .array(let element): element.places(names: names, path: "\(path)[0]")
        case .shared(let shared): shared.schema.places(names: names, path: path)
        default: []
        }
    }

    /// A value that has the schema, but for what these names lead to.
    fileprivate func sample(_ names: ArraySlice<String>, _ value: DataItem?) -> DataItem? {
        guard let name = names.first else { return value }
        switch self {
        case .object(let members):
            var object = DataObject()
            for member in members where member.isRequired || member.name == name {
                let isOnTheWay = member.name == name
                object[member.name] =
                    isOnTheWay ? member.schema.sample(names.dropFirst(), value) : member.schema.sample
            }
            return .object(object)
        case .array(let element): return .array([element.sample(names, value)].compactMap(\.self))
        case .shared(let shared): return shared.schema.sample(names, value)
        default: return nil
        }
    }

    /// Some value that has the schema: the least one where that can be said.
    fileprivate var sample: DataItem {
        switch self {
        // A dispatcher that there is.
        case .any, .name, .string: "archive"
        case .time: "2026-01-02T03:04:05.678Z"
        case .bool: true
        case .integer(let least, _): .number(DataNumber(least))
        case .words(let words): words.first.map { .string($0) } ?? .null
        case .object(let members):
            .object(DataObject(members.filter(\.isRequired).map { ($0.name, $0.schema.sample) }))
        case .dictionary: [:]
        case .array(let element): [element.sample]
        case .either(let schemas): schemas[0].sample
        case .shared(let shared): shared.schema.sample
        }
    }

    /// Values that do not have the schema.
    fileprivate var wrong: [DataItem] {
        switch self {
        case .any: []
        case .bool: ["yes", 1, .null]
        case .integer(let least, let most):
            ["1", 1.5, .null, .number(DataNumber(least - 1))] + (most.map { [.number(DataNumber($0 + 1))] } ?? [])
        case .words, .time: [-1, "", .null]
        default: [-1, .null]
        }
    }
}
