import HeadgateData
import HeadgateTransport
import HeadgateWire

/// The state of a scripted daemon on its loop.
final class Stage {
    var script: ScriptedDaemon.Script
    var results: [String: DataObject] = [:]
    var greeting: DataObject = ["protocol": 1]
    var refusedGreetings: [(error: RPCError, isAnonymous: Bool)] = []
    var watches: [(condition: (ScriptedRecord) -> Bool, action: () -> Void)] = []
    private(set) var record = ScriptedRecord()

    private let path: String
    private let loop: EventLoop
    private var sequenceNumbers: [String: Int] = [:]
    private var listener: UnixListener?
    private var visitors: [Int: Visitor] = [:]
    private var afterTurn: [() -> Void] = []
    private lazy var nextTurn = LoopTimer(on: loop) { [weak self] in self?.runAfterTurn() }
    private var held: [(visitor: Visitor, line: [UInt8])] = []

    init(path: String, on loop: EventLoop, script: @escaping ScriptedDaemon.Script) {
        self.path = path
        self.loop = loop
        self.script = script
    }

    func listen() throws(TransportError) {
        listener = try UnixListener(path: path, on: loop) { [weak self] in self?.welcome($0) }
    }

    /// Calls `body` when the listener is closed, at the end of the loop's turn.
    func kill(then body: @escaping () -> Void) {
        listener?.close()
        listener = nil
        for visitor in visitors.values { visitor.close() }
        visitors = [:]
        held = []
        record.held = 0
        afterTurn.append(body)
        nextTurn.arm(after: .zero)
    }

    private func runAfterTurn() {
        let bodies = afterTurn
        afterTurn = []
        for body in bodies { body() }
    }

    func release(reversed: Bool) {
        for (visitor, line) in reversed ? held.reversed() : held { visitor.write(line) }
        held = []
        record.held = 0
    }

    func sendToAll(_ line: String) {
        for visitor in visitors.values { visitor.write(Array((line + "\n").utf8)) }
    }

    private func step() {
        let fulfilled = watches.filter { $0.condition(record) }
        guard !fulfilled.isEmpty else { return }
        watches.removeAll { $0.condition(record) }
        for watch in fulfilled { watch.action() }
    }
}

// MARK: Connections

extension Stage {
    private func welcome(_ connection: Connection) {
        record.connections += 1
        let number = record.connections
        let visitor = Visitor(connection, number: number) { [weak self] in
            self?.take($1, from: $0)
        } onEnd: { [weak self] in
            self?.depart(number)
        }
        visitors[number] = visitor
        connection.start(visitor)
        step()
    }

    private func depart(_ number: Int) {
        guard visitors.removeValue(forKey: number) != nil else { return }
        record.departures += 1
        step()
    }

    private func take(_ message: IncomingMessage, from visitor: Visitor) {
        if case .response(let response) = message { note(response) }
        guard case .request(let message) = message else { return }
        let method = message.method.string ?? ""
        let params = message.params.map(DataObject.init(_:)) ?? [:]
        let id = Array(message.id.raw)
        if method == "hello" { return greet(params, id, visitor) }
        let request = ScriptedRequest(
            number: record.requests.count + 1, connection: visitor.number, method: method, params: params)
        record.requests.append(request)
        react(script(request), to: request, id, visitor)
        step()
    }

    private func note(_ response: IncomingMessage.Response) {
        let id = String(decoding: response.id.raw, as: UTF8.self)
        switch response.outcome {
        case .failure(let error): record.answers.append("\(id): \(error.message)")
        case .result(let result): record.results.append("\(id): \(String(decoding: result.raw, as: UTF8.self))")
        }
        step()
    }

    private func greet(_ params: DataObject, _ id: [UInt8], _ visitor: Visitor) {
        record.greetings.append(params)
        defer { step() }
        guard !refusedGreetings.isEmpty else { return visitor.write(line(id) { $0.object(greeting) }) }
        let refusal = refusedGreetings.removeFirst()
        visitor.write(errorLine(refusal.isAnonymous ? Array("null".utf8) : id, refusal.error))
    }

    private func react(_ reaction: Reaction, to request: ScriptedRequest, _ id: [UInt8], _ visitor: Visitor) {
        switch reaction {
        case .answer: visitor.write(answer(request, id))
        case .hold:
            held.append((visitor, answer(request, id)))
            record.held = held.count
        case .doAndBreak:
            _ = answer(request, id)
            visitor.close()
        case .breakInAnswer:
            let line = answer(request, id)
            visitor.write(Array(line.prefix(line.count / 2)))
            visitor.closeAfterFlush()
        case .breakOff: visitor.close()
        case .refuse(let error): visitor.write(errorLine(id, error))
        case .write(let text): visitor.write(Array((text + "\n").utf8))
        case .ignore: return
        }
    }
}

// MARK: Answers

extension Stage {
    /// Carries out a request, and returns the line of the answer.
    private func answer(_ request: ScriptedRequest, _ id: [UInt8]) -> [UInt8] {
        switch request.method {
        case "track":
            let result = store(request.params)
            return line(id) { $0.object(result) }
        case "track_many":
            let events = request.params.get(key: "events", as: [DataObject].self) ?? []
            let receipts = events.map(store)
            let result = summary(of: receipts)
            return line(id) { $0.object(result) }
        default: return line(id) { $0.object(results[request.method] ?? [:]) }
        }
    }

    private func store(_ event: DataObject) -> DataObject {
        let id: String = event.get(key: "id") ?? "none"
        if let number = sequenceNumbers[id] {
            record.duplicates += 1
            return ["id": .string(id), "seq": .number(DataNumber(number)), "duplicate": true]
        }
        record.stored.append(id)
        sequenceNumbers[id] = record.stored.count
        return ["id": .string(id), "seq": .number(DataNumber(record.stored.count))]
    }

    private func summary(of receipts: [DataObject]) -> DataObject {
        let numbers = receipts.compactMap { $0.get(key: "seq", as: Int.self) }
        return [
            "ids": .array(receipts.compactMap { $0["id"] }), "first_seq": .number(DataNumber(numbers.min() ?? 0)),
            "last_seq": .number(DataNumber(numbers.max() ?? 0)),
            "duplicates": .number(DataNumber(receipts.filter { $0["duplicate"] != nil }.count)), "unrouted": 0,
        ]
    }

    private func line(_ id: [UInt8], _ result: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        id.withUnsafeBytes { writer.answer(id: $0, result: result) }
        writer.endLine()
        return writer.bytes
    }

    private func errorLine(_ id: [UInt8], _ error: RPCError) -> [UInt8] {
        var writer = JSONWriter()
        id.withUnsafeBytes { writer.errorAnswer(id: $0, error: error) }
        writer.endLine()
        return writer.bytes
    }
}
