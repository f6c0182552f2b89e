import HeadgateClient
import HeadgateData
import HeadgateWire

/// Calls as the lines of the input ask for them, and tells each answer.
struct Calls {
    let client: HeadgateClient

    func answerAll() async throws {
        while let line = readLine() {
            let asked = try Self.object(line)
            guard let method = asked.get(key: "method", as: String.self) else { throw UsageError("no method") }
            let arguments = asked.get(key: "arguments", as: DataObject.self) ?? [:]
            do {
                Output.put(["result": .object(try await call(method, arguments))])
            } catch let error as ClientError {
                Output.put(["error": .object(error.object)])
            }
        }
        await client.close()
    }

    private func call(_ method: String, _ arguments: DataObject) async throws -> DataObject {
        switch method {
        case "track": return try await client.track(TrackedEvent(arguments)).object
        case "track_many":
            let events = arguments.get(key: "events", as: [DataObject].self) ?? []
            return try await client.trackMany(events.map { try TrackedEvent($0) }).object
        default:
            guard case .object(let result) = try await client.call(method, params: arguments) else {
                throw ClientError.badAnswer("a result that is no object")
            }
            try check(result, of: method, arguments)
            return result
        }
    }

    /// What the client's own functions for these methods make of a result.
    private func check(_ result: DataObject, of method: String, _ arguments: DataObject) throws {
        switch method {
        case "barrier.list" where BarrierSummary.list(in: result) == nil,
            "dispatcher.list" where DispatcherSummary.list(in: result) == nil:
            throw ClientError.badAnswer("a result without its list")
        case "flush" where arguments.get(key: "wait", as: Bool.self) == true: _ = try FlushAnswer(result)
        default: return
        }
    }

    private static func object(_ line: String) throws -> DataObject {
        guard case .object(let object) = try DataItem(parsing: Array(line.utf8), maxDepth: 1_000) else {
            throw UsageError("a line that is no object")
        }
        return object
    }
}

extension TrackedEvent {
    /// The params of `track`.
    fileprivate init(_ params: DataObject) throws {
        self.init(
            params.get(key: "event") ?? "", data: params.get(key: "data") ?? [:], id: params.get(key: "id"),
            key: params.get(key: "key"), dispatchers: params.get(key: "dispatchers"),
            timeToLive: params.get(key: "ttl_ms", as: Int.self).map { .milliseconds($0) })
        time = params.get(key: "time", as: String.self).flatMap { Timestamp(rfc3339: $0) }
    }
}
