import HeadgateData
import HeadgateTransport
import HeadgateWire
import Testing

@testable import HeadgateServer

/// A test client of a service's socket. It sends and receives lines, and matches answers to requests by ID.
actor LineClient {
    private nonisolated let loop: EventLoop
    private let incoming = IncomingMessages()
    private var connection: Connection?
    private var lastID = 0
    /// The methods of unanswered requests, by ID.
    private var methods: [Int: String] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    init(on loop: EventLoop) {
        self.loop = loop
    }

    func connect(to path: String) throws {
        let connection = try Connection.connect(path: path, on: loop)
        connection.start(incoming)
        self.connection = connection
    }

    // MARK: Calls

    /// Calls a method and returns its result. Throws an error answer as a ``Refusal``.
    @discardableResult
    func call(_ method: String, _ params: DataObject? = nil) async throws -> DataItem {
        try await answer(to: request(method, params))
    }

    /// Sends a request.
    /// - Returns: the request's ID.
    func request(_ method: String, _ params: DataObject? = nil) -> Int {
        lastID += 1
        methods[lastID] = method
        var message: DataObject = ["jsonrpc": "2.0", "id": .number(DataNumber(lastID)), "method": .string(method)]
        if let params { message["params"] = .object(params) }
        var line = JSONWriter()
        line.object(message)
        send(line.text)
        return lastID
    }

    /// Waits for the answer to a sent request. Returns its result, or throws its error as a ``Refusal``.
    func answer(to id: Int) async throws -> DataItem {
        let message = try await message(to: id)
        guard message["error"] != .null else { return message["result"] }
        throw Refusal(message["error"])
    }

    /// Waits for the answer to a sent request. Returns the complete message.
    func message(to id: Int) async throws -> DataItem {
        let message = DataItem.object(try await next(.answer(id)))
        let name = methods.removeValue(forKey: id)
        if let method = MethodTable.all.first(where: { $0.name.description == name }) {
            expectDeclared(message, of: method)
        }
        return message
    }

    /// Checks that an answer fits the method's declaration. An error's reason must be declared, with two exceptions:
    /// any method may be refused for a missing right, and any waiting call when the service stops.
    private func expectDeclared(_ answer: DataItem, of method: Method) {
        if answer["error"] == .null {
            let problem = method.result.problem(about: answer["result"])
            return #expect(problem == nil, "the result of \(method.name)")
        }
        let refusal = Refusal(answer["error"])
        guard let reason = refusal.reason.flatMap(ErrorReason.init) else { return }
        guard ![.unauthorized, .shuttingDown].contains(reason) else { return }
        #expect(method.reasons.contains(reason), "\(method.name) does not declare the reason \(reason)")
    }

    /// Checks that a request or notification of the server fits its declaration.
    private func expectDeclared(_ message: DataObject) {
        let name = message["method"] ?? .null
        let declared = MethodTable.messages.first { .string($0.name.description) == name }
        let problem = Schema.object(declared?.params ?? []).problem(about: message["params"] ?? .null)
        #expect(declared != nil && problem == nil, "the params of the server's \(name)")
    }

    /// Returns true if a request's answer has arrived and no test has taken it.
    func hasAnswer(to id: Int) -> Bool {
        incoming.count(.answer(id)) > 0
    }

    /// Calls a method that must be refused. Returns the error.
    func refusal(_ method: String, _ params: DataObject? = nil) async throws -> Refusal {
        do {
            let result = try await call(method, params)
            throw Missing(what: "a refusal of \(method), which answered \(result)")
        } catch let refusal as Refusal {
            return refusal
        }
    }

    /// Waits for the next notification. Returns its params.
    func notification() async throws -> DataItem {
        let message = try await next(.notification)
        expectDeclared(message)
        return message["params"] ?? .null
    }

    /// Waits for the next request of the server. Returns the complete message.
    func peerRequest() async throws -> DataItem {
        let message = try await next(.request)
        expectDeclared(message)
        return .object(message)
    }

    /// The number of the server's requests that have arrived and no test has taken.
    var waitingRequests: Int {
        incoming.count(.request)
    }

    /// The number of notifications that have arrived and no test has taken.
    var waitingNotifications: Int {
        incoming.count(.notification)
    }

    /// Waits for the next message of a kind and returns it. The test's time limit ends the wait.
    private func next(_ key: IncomingMessages.Key) async throws -> DataObject {
        try await withTaskCancellationHandler {
            try await incoming.next(key)
        } onCancel: {
            Task { await self.timeOut() }
        }
    }

    private func timeOut() {
        incoming.timeOut()
    }

    // MARK: The connection

    /// Sends a line and a line feed.
    func send(_ line: String) {
        connection?.write(Array((line + "\n").utf8))
    }

    /// Stops reading from the socket until ``resumeReading()``.
    func pauseReading() {
        connection?.pauseReading()
    }

    func resumeReading() {
        connection?.resumeReading()
    }

    func close() {
        connection?.close()
    }

    /// Closes the sending side. Answers still arrive.
    func shutDown() {
        connection?.shutdownWriting()
    }
}

/// The error answer to a call.
struct Refusal: Error, Equatable {
    var code: Int
    /// The `reason` in the error's data, or nil for errors of JSON-RPC itself.
    var reason: String?
    /// The path of an invalid parameter, or nil.
    var path: String?
    var message: String
    /// The error's data.
    var data: DataItem

    init(_ error: DataItem) {
        code = error["code"].get() ?? 0
        reason = error["data"]["reason"].get()
        path = error["data"]["path"].get()
        message = error["message"].get() ?? ""
        data = error["data"]
    }
}

extension DataItem {
    /// Returns a member, or null if there is none.
    subscript(key: String) -> DataItem {
        guard case .object(let object) = self else { return .null }
        return object[key] ?? .null
    }

    /// The elements of an array, or none for another value.
    var elements: [DataItem] {
        guard case .array(let items) = self else { return [] }
        return items
    }

    /// Returns the element with this member, or null if there is none.
    func element(where key: String, is value: DataItem) -> DataItem {
        elements.first { $0[key] == value } ?? .null
    }
}

extension LineClient {
    /// A `board.run` or `board.barrier` request that this client got.
    struct Run {
        let id: DataItem
        let params: DataItem

        var board: DataItem { params["board"] }
    }

    /// Waits for the next `board.run` request.
    func run() async throws -> Run {
        let request = try await peerRequest()
        guard request["method"] == "board.run" else { throw Missing(what: "a board.run instead of \(request)") }
        return Run(id: request["id"], params: request["params"])
    }

    /// Waits for the next `board.barrier` request, which asks the client to choose a board's barrier.
    func choice() async throws -> Run {
        let request = try await peerRequest()
        guard request["method"] == "board.barrier" else { throw Missing(what: "a board.barrier instead of \(request)") }
        return Run(id: request["id"], params: request["params"])
    }

    /// Waits for the next `board.run` request and answers it.
    /// - Returns: the params of the request.
    @discardableResult
    func runNext(_ result: DataItem = ["done": true]) async throws -> DataItem {
        let run = try await run()
        answer(run, result)
        return run.params
    }

    func answer(_ run: Run, _ result: DataItem = ["done": true]) {
        send(DataItem.object(["jsonrpc": "2.0", "id": run.id, "result": result]).json)
    }

    func refuse(_ run: Run, _ error: DataItem) {
        send(DataItem.object(["jsonrpc": "2.0", "id": run.id, "error": error]).json)
    }

    /// Serves a board, with a barrier if one is given.
    func serve(_ board: String, behind barrier: DataObject? = nil) async throws {
        var params: DataObject = ["board": .string(board)]
        if let barrier { params["barrier"] = .object(barrier) }
        try await call("board.serve", params)
    }

    /// Activates a board.
    /// - Returns: the request's ID.
    func activate(_ board: String, _ params: DataObject = [:]) -> Int {
        request("board.activate", DataObject([("board", .string(board))] + params.map { ($0.key, $0.value) }))
    }

    /// Waits for the answer to a request, which must be an error, and returns it.
    func error(to id: Int) async throws -> Refusal {
        do {
            throw Missing(what: "a refusal instead of \(try await answer(to: id))")
        } catch let refusal as Refusal {
            return refusal
        }
    }
}

extension LineClient {
    /// Watches topics, and waits for the first notification of each.
    /// - Returns: the notifications, by topic.
    @discardableResult
    func watch(_ topics: String...) async throws -> [String: DataItem] {
        try await call("watch", ["topics": .array(topics.map { .string($0) })])
        var first: [String: DataItem] = [:]
        for _ in topics {
            let params = try await notification()
            first[params["topic"].get() ?? ""] = params
        }
        return first
    }

    /// Takes notifications until one has the barrier in a state that satisfies the condition.
    /// - Returns: the barrier in the notification.
    @discardableResult
    func barrier(_ id: String, where isAwaited: (DataItem) -> Bool = { _ in true }) async throws -> DataItem {
        while true {
            let barrier = try await notification()["barriers"].element(where: "id", is: .string(id))
            if barrier != .null, isAwaited(barrier) { return barrier }
        }
    }

    /// Takes notifications until one reports that the barrier is removed.
    func removal(of id: String) async throws {
        while try await !notification()["removed"].elements.contains(.string(id)) {}
    }

    /// Returns the barrier with this ID in `barrier.list`, or null if there is none.
    func listedBarrier(_ id: String) async throws -> DataItem {
        try await call("barrier.list")["barriers"].element(where: "id", is: .string(id))
    }

    /// Returns the dispatcher with this ID in `dispatcher.list`, or null if there is none.
    func listedDispatcher(_ id: String) async throws -> DataItem {
        try await call("dispatcher.list")["dispatchers"].element(where: "id", is: .string(id))
    }
}
