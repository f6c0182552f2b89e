import HeadgateData
import Testing

/// Compares the typings of the Node client, `Packages/Client/Node/index.d.ts`, with the schemas in `Docs/openrpc.json`.
@Suite struct NodeTypingsTests {
    /// An interface of the typings, and the schema of the values that it describes.
    struct Pair: CustomTestStringConvertible, Sendable {
        /// The interface and its base interfaces.
        let interfaces: [String]
        let schema: @Sendable () -> DataObject?

        init(_ interfaces: String..., schema: @escaping @Sendable () -> DataObject?) {
            (self.interfaces, self.schema) = (interfaces, schema)
        }

        var testDescription: String { interfaces[0] }
    }

    static let pairs = [
        Pair("Event", "EventOptions") { ProtocolDocument.params(of: "track") },
        Pair("Receipt") { ProtocolDocument.result(of: "track") },
        Pair("ManyReceipt") { ProtocolDocument.result(of: "track_many") },
        Pair("FlushOptions") { ProtocolDocument.params(of: "flush") },
        Pair("Flush") { ProtocolDocument.result(of: "flush") },
        Pair("Batch") { ProtocolDocument.params(of: "dispatch") },
        Pair("DeliveredEvent") { ProtocolDocument.resolved(["$ref": "#/components/schemas/DeliveredEvent"]) },
    ]

    @Test("An interface of the typings has the members that the protocol declares, with their types", arguments: pairs)
    func members(_ pair: Pair) throws {
        let declared = try #require(pair.schema()?.get(key: "properties", as: DataObject.self))
        let typings = Typings(of: ProtocolDocument.file("Packages/Client/Node/index.d.ts"))
        let all = pair.interfaces.compactMap { typings.members[$0] }
        let members = all.reduce([:]) { $0.merging($1) { one, _ in one } }
        #expect(!declared.isEmpty && members.keys.sorted() == declared.keys.sorted())
        for (name, schema) in declared {
            let type = members[name] ?? ""
            #expect(Typings.allows(DataObject(dataItem: schema) ?? [:], as: type), "\(name) is \(type)")
        }
    }

    @Test("The outcomes of events are the words that the protocol declares")
    func outcomes() throws {
        let result = ProtocolDocument.result(of: "dispatch")?.get(key: "properties", as: DataObject.self)
        let outcomes = try #require(result?.get(key: "outcomes", as: DataObject.self))
        let words: [String]? = outcomes.get(key: "additionalProperties", as: DataObject.self)?.get(key: "enum")
        let union = try #require(words).map { "\"\($0)\"" }.joined(separator: " | ")
        #expect(ProtocolDocument.file("Packages/Client/Node/index.d.ts").contains("export type Outcome = \(union);"))
    }
}

/// The interfaces of a TypeScript file.
private struct Typings {
    /// The types of the members of each interface. A type may have a union with null, which a client adds.
    private(set) var members: [String: [String: String]] = [:]

    init(of text: String) {
        var interface: String?
        for line in text.split(separator: "\n") {
            if line.hasPrefix("export interface ") {
                interface = line.split(separator: " ").dropFirst(2).first.map(String.init)
            } else if line == "}" {
                interface = nil
            } else if let interface, let colon = line.firstIndex(of: ":"), let member = Typings.name(line[..<colon]) {
                let type = line[line.index(after: colon)...].drop { $0 == " " }.dropLast()
                members[interface, default: [:]][member] = String(type)
            }
        }
    }

    /// Returns the name of a member from the start of its line, or nil if the line is a comment.
    private static func name(_ start: Substring) -> String? {
        let name = start.drop { $0 == " " }.prefix { $0 != "?" }
        return name.allSatisfy { $0.isLetter || $0 == "_" } ? String(name) : nil
    }

    /// Returns true if a type allows the values of a schema.
    static func allows(_ schema: DataObject, as type: String) -> Bool {
        if let words = schema.get(key: "enum", as: [String].self) {
            return type == words.map { "\"\($0)\"" }.joined(separator: " | ")
        }
        let types = type.replacing("readonly ", with: "").split(separator: " | ").map(String.init)
        if let name = schema.get(key: "$ref", as: String.self)?.split(separator: "/").last {
            return types.contains(String(name))
        }
        switch schema.get(key: "type", as: String.self) {
        case "boolean": return types.contains("boolean")
        case "integer", "number": return types.contains("number")
        case "string": return types.contains("string")
        case "array":
            let items: DataObject = schema.get(key: "items") ?? [:]
            return types.contains { $0.hasSuffix("[]") && allows(items, as: String($0.dropLast(2))) }
        default: return types.contains("JSONObject") || types.contains("object") || type.hasPrefix("{[")
        }
    }
}
