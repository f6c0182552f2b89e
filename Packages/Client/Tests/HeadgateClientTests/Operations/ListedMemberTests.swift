import HeadgateClient
import HeadgateData
import HeadgateWire
import Testing

/// Compares the types of the client that read results with the schemas of the results in `Docs/openrpc.json`.
@Suite struct ListedMemberTests {
    /// A type of the client, and the path of its schema.
    struct Entry: CustomTestStringConvertible, Sendable {
        let method: String
        /// The member of the result or of the params that lists the entries, or nil if the type reads the whole object.
        let list: String?
        /// Returns true if the type reads the same value from two entries.
        let isSame: @Sendable (DataObject, DataObject) -> Bool

        init<Value: Equatable & Sendable>(
            _ method: String, _ list: String? = nil, _ read: @escaping @Sendable (DataObject) -> Value
        ) {
            (self.method, self.list) = (method, list)
            isSame = { read($0) == read($1) }
        }

        var testDescription: String { [method, list].compactMap(\.self).joined(separator: ".") }

        /// The schema of an entry.
        var schema: DataObject? {
            let result = ProtocolDocument.result(of: method)
            guard let list else { return result ?? ProtocolDocument.params(of: method) }
            let members = (result ?? ProtocolDocument.params(of: method))?.get(key: "properties", as: DataObject.self)
            return members?.get(key: list, as: DataObject.self)?.get(key: "items")
        }
    }

    static let entries = [
        Entry("barrier.list", "barriers") { ListedBarrier($0) }, Entry("client.list", "clients") { ListedClient($0) },
        Entry("dispatcher.list", "dispatchers") { ListedDispatcher($0) },
        Entry("event.trace", "events") { ListedTrace($0) },
        Entry("dead_letters.list", "dead_letters") { ListedDeadLetter($0) },
        Entry("dead_letters.list") { try? DeadLetterPage($0) }, Entry("queue.peek") { try? PeekedEvents($0) },
        Entry("changed", "outcomes") { OutcomeCounts($0) }, Entry("hello") { DaemonGreeting($0) },
        Entry("flush") { try? FinishedFlush($0) }, Entry("board.activate") { try? BoardOutcome($0) },
        Entry("track") { $0.read { try TrackReceipt($0) } },
        Entry("track_many") { $0.read { try TrackManyReceipt($0) } },
    ]

    @Test("Each member of a declared result is read: without the member the value differs", arguments: entries)
    func members(_ entry: Entry) throws {
        let schema = try #require(entry.schema)
        guard case .object(let example) = Example.value(of: schema) else { return #expect(Bool(false)) }
        let shortened = Example.shortened(.object(example))
        #expect(shortened.count >= 2)
        for (path, shorter) in shortened {
            guard case .object(let shorter) = shorter else { continue }
            #expect(!entry.isSame(example, shorter), "the client does not read \(path)")
        }
    }
}

extension DataObject {
    /// Returns what the client reads from the object's JSON; nil for a malformed result.
    fileprivate func read<Value>(_ read: (JSONView) throws -> Value) -> Value? {
        let scanner = JSONScanner()
        return Array(DataItem.object(self).json.utf8).withUnsafeBytes { text in
            withExtendedLifetime(scanner) { try? read(scanner.scan(text)) }
        }
    }
}

/// Examples of values for schemas.
private enum Example {
    /// Returns a value with every member that a schema declares.
    static func value(of unresolved: DataObject) -> DataItem {
        let schema = ProtocolDocument.resolved(unresolved)
        if let schemas = schema.get(key: "anyOf", as: [DataObject].self), let first = schemas.first {
            return value(of: first)
        }
        if let words = schema.get(key: "enum", as: [String].self), let word = words.first { return .string(word) }
        switch schema.get(key: "type", as: String.self) {
        case "boolean": return true
        case "integer", "number": return 7
        case "string": return schema["format"] == nil ? "text" : "2027-01-15T12:00:00.000Z"
        case "array": return .array([value(of: schema.get(key: "items") ?? [:])])
        case "object": return .object(members(of: schema))
        default: return "any"
        }
    }

    private static func members(of schema: DataObject) -> DataObject {
        if let other = schema.get(key: "additionalProperties", as: DataObject.self) {
            return ["name": value(of: other)]
        }
        let declared = schema.get(key: "properties", as: DataObject.self) ?? [:]
        return DataObject(declared.map { ($0.key, value(of: DataObject(dataItem: $0.value) ?? [:])) })
    }

    /// Returns the value without each of its members in turn, at any depth, with the path of the member.
    static func shortened(_ value: DataItem) -> [(path: String, value: DataItem)] {
        guard case .object(let object) = value else { return [] }
        return object.flatMap { key, member -> [(path: String, value: DataItem)] in
            var without = object
            without[key] = nil
            return [(key, .object(without))]
                + shortened(member).map { path, shorter in
                    var changed = object
                    changed[key] = shorter
                    return ("\(key).\(path)", .object(changed))
                }
        }
    }
}
