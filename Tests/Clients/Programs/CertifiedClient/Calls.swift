import HeadgateClient
import HeadgateData
import HeadgateWire

/// Makes the calls that the input lines ask for, and writes each answer.
struct Calls {
    let client: HeadgateClient
    /// The time limit of a call, or nil for none.
    let deadline: Duration?

    func answerAll() async throws {
        while let line = readLine() {
            let requested = try Self.object(line)
            guard let method = requested.get(key: "method", as: String.self) else { throw UsageError("no method") }
            let arguments = Parameters(object: requested.get(key: "arguments") ?? [:])
            do {
                Output.put(["result": .object(try await call(method, arguments))])
            } catch let error as ClientError {
                Output.put(["error": .object(error.object)])
            }
        }
        await client.close()
    }

    private func call(_ method: String, _ given: Parameters) async throws -> DataObject {
        switch method.split(separator: ".").first {
        case "barrier": try await callBarriers(method, given)
        case "dispatcher", "queue", "dead_letters": try await callDispatchers(method, given)
        case "track", "track_many", "flush", "board", "application": try await callEvents(method, given)
        default: try await callPlainly(method, given)
        }
    }

    private func callEvents(_ method: String, _ given: Parameters) async throws -> DataObject {
        switch method {
        case "track": return try await client.track(OutgoingEvent(given), deadline: deadline).object
        case "track_many":
            let events: [DataObject] = given["events"] ?? []
            return try await client.trackMany(
                events.map { OutgoingEvent(Parameters(object: $0)) }, deadline: deadline
            ).object
        case "flush" where given["wait"] == true:
            let answer = try await client.flush(
                dispatchers: given["dispatchers"], as: given["flush"], wait: true, timeout: given.duration("timeout_ms")
            )
            return answer?.object ?? [:]
        case "flush":
            let id = try await client.beginFlush(
                dispatchers: given["dispatchers"], as: given["flush"], timeout: given.duration("timeout_ms"))
            return ["flush": .string(id)]
        case "board.activate":
            return try await client.activate(
                given.text("board"), input: given.object["input"], mainboard: given["mainboard"],
                timeout: given.duration("timeout_ms"), wait: given.duration("wait_ms")
            ).object
        case "application.status": try await client.announce(given.word("status") ?? .foreground, deadline: deadline)
        default: return try await callPlainly(method, given)
        }
        return [:]
    }

    private func callBarriers(_ method: String, _ given: Parameters) async throws -> DataObject {
        let id = given.text("id")
        switch method {
        case "barrier.list": return ["barriers": .array(try await client.barriers().map { .object($0.object) })]
        case "barrier.register":
            _ = try await client.barrier(
                id, given.word("state") ?? .closed, scopes: given["scopes"], flushable: given["flushable"],
                onDisconnect: given.word("on_disconnect"), deadline: deadline)
        case "barrier.set":
            let change = BarrierChange(
                given.word("state"), reason: given["reason"], dispatcher: given["dispatcher"],
                isFlushable: given["flushable"])
            try await client.setBarrier(id, change, deadline: deadline)
        case "barrier.unregister":
            try await client.unregisterBarrier(id, force: given["force"] ?? false, deadline: deadline)
        default: return try await callPlainly(method, given)
        }
        return [:]
    }

    private func callDispatchers(_ method: String, _ given: Parameters) async throws -> DataObject {
        let dispatcher = given.text("dispatcher")
        switch method {
        case "dispatcher.list":
            return ["dispatchers": .array(try await client.dispatchers().map { .object($0.object) })]
        case "dispatcher.pause":
            try await client.pause(
                given.text("id"), reason: given["reason"], flushable: given["flushable"] ?? false)
            return [:]
        case "dispatcher.resume":
            try await client.resume(given.text("id"))
            return [:]
        case "queue.peek":
            return try await client.peek(
                dispatcher, after: given["after"].map { Int64($0 as Int) }, limit: given["limit"]
            ).object
        case "queue.purge":
            let count = try await client.purgeQueue(
                of: dispatcher, before: given["before_seq"].map { Int64($0 as Int) })
            return ["purged": .number(DataNumber(count))]
        case "dead_letters.list":
            return try await client.deadLetters(
                of: given["dispatcher"], after: given["after"], limit: given["limit"]
            ).object
        case "dead_letters.requeue":
            let count = try await client.requeueDeadLetters(of: given["dispatcher"], given["letters"])
            return ["count": .number(DataNumber(count))]
        case "dead_letters.purge":
            let count = try await client.purgeDeadLetters(of: given["dispatcher"], given["letters"])
            return ["count": .number(DataNumber(count))]
        default: return try await callPlainly(method, given)
        }
    }

    private func callPlainly(_ method: String, _ given: Parameters) async throws -> DataObject {
        switch method {
        // written by Tools/protocol: certified
        case "ping": try await client.ping(deadline: deadline)
        case "rights": return try await client.rights(deadline: deadline)
        case "rpc.discover": return try await client.discover(deadline: deadline)
        case "flush.cancel": try await client.cancelFlush(given["flush"] ?? "", deadline: deadline)
        case "flush.list": return ["flushes": items(try await client.flushes(deadline: deadline))]
        case "status": return try await client.status(deadline: deadline)
        case "dispatcher.retry": try await client.retry(given["id"] ?? "", deadline: deadline)
        case "dispatcher.rewind":
            return try await client.rewind(
                given["id"] ?? "", to: given["to"] ?? .null, dryRun: given["dry_run"] ?? false, deadline: deadline)
        case "config.get": return try await client.settings(given.word("layer"), deadline: deadline)
        case "config.set":
            try await client.changeSettings(
                given["patch"] ?? [:], persist: given["persist"] ?? false, deadline: deadline)
        case "config.reload": return ["changed": items(try await client.reloadSettings(deadline: deadline))]
        case "metrics": return ["metrics": items(try await client.metrics(deadline: deadline))]
        case "event.trace":
            let result = try await client.eventTrace(
                given["id"] ?? "", namespace: given["namespace"], deadline: deadline)
            return ["events": items(result)]
        case "client.list": return ["clients": items(try await client.clients(deadline: deadline))]
        case "store.backup": return try await client.backup(given["backup"], deadline: deadline)
        case "store.erase":
            return try await client.erase(
                given["when"] ?? .null, reason: given["reason"], dryRun: given["dry_run"] ?? false, deadline: deadline)
        case "store.rekey": return try await client.rekey(deadline: deadline)
        // end of what Tools/protocol has written
        default: throw UsageError("there is no method \(method)")
        }
        return [:]
    }

    private func items(_ words: [String]) -> DataItem { .array(words.map { .string($0) }) }

    private func items(_ objects: [DataObject]) -> DataItem { .array(objects.map { .object($0) }) }

    private func number(_ number: Int) -> DataItem { .number(DataNumber(number)) }

    private static func object(_ line: String) throws -> DataObject {
        guard case .object(let object) = try DataItem(parsing: Array(line.utf8), maxDepth: 1_000) else {
            throw UsageError("a line that is no object")
        }
        return object
    }
}

/// The arguments of a call.
struct Parameters {
    let object: DataObject

    subscript<Value: DataItemConvertible>(_ name: String) -> Value? { object.get(key: name) }

    func text(_ name: String) -> String { self[name] ?? "" }

    func duration(_ name: String) -> Duration? { self[name].map { .milliseconds($0 as Int) } }

    func word<Word: RawRepresentable<String>>(_ name: String) -> Word? { self[name].flatMap(Word.init(rawValue:)) }
}

extension OutgoingEvent {
    /// Creates an event from the params of `track`.
    fileprivate init(_ params: Parameters) {
        self.init(
            params.text("event"), data: params["data"] ?? [:], id: params["id"], key: params["key"],
            time: params["time"].flatMap { Timestamp(rfc3339: $0) }, dispatchers: params["dispatchers"],
            timeToLive: params.duration("ttl_ms"))
    }
}
