import HeadgateData
import HeadgateTransport
import HeadgateWire
import Testing

@testable import HeadgateServer

/// A raw client of a service's socket: lines out, lines in, answers by their ids.
actor LineClient {
    private nonisolated let loop: EventLoop
    private let incoming = IncomingMessages()
    private var connection: Connection?
    private var lastID = 0
    /// The methods of the requests by their ids.
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

    /// Calls a method and gives back its result; an error is thrown as a ``Refusal``.
    @discardableResult
    func call(_ method: String, _ params: DataObject? = nil) async throws -> DataItem {
        try await answer(to: request(method, params))
    }

    /// Sends a request.
    /// - Returns: its id.
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

    /// The result of a request that was sent before.
    func answer(to id: Int) async throws -> DataItem {
        let message = try await message(to: id)
        guard message["error"] != .null else { return message["result"] }
        throw Refusal(message["error"])
    }

    /// The whole answer to a request that was sent before.
    func message(to id: Int) async throws -> DataItem {
        let message = DataItem.object(try await next(.answer(id)))
        let name = methods.removeValue(forKey: id)
        if let method = MethodTable.all.first(where: { $0.name.description == name }) {
            expectDeclared(message, of: method)
        }
        return message
    }

    /// Whatever a method answers has to be as its declaration says, and whatever it refuses for has to be among the reasons
    /// there; all methods may be refused to those who may not use them.
    private func expectDeclared(_ answer: DataItem, of method: Method) {
        if answer["error"] == .null {
            let complaint = method.result.complaint(about: answer["result"])
            return #expect(complaint == nil, "the result of \(method.name)")
        }
        let refusal = Refusal(answer["error"])
        guard let reason = refusal.reason.flatMap(ErrorReason.init), reason != .unauthorized else { return }
        #expect(method.reasons.contains(reason), "\(method.name) is not said to be refused for \(reason)")
    }

    /// Whatever the server sends of its own accord has to be as it is declared.
    private func expectDeclared(_ message: DataObject) {
        let name = message["method"] ?? .null
        let declared = MethodTable.families.flatMap(\.messages).first { .string($0.name.description) == name }
        let complaint = Schema.object(declared?.params ?? []).complaint(about: message["params"] ?? .null)
        #expect(declared != nil && complaint == nil, "what the server sends as \(name)")
    }

    /// Whether a request's answer has come and nobody has taken it.
    func hasAnswer(to id: Int) -> Bool {
        incoming.count(.answer(id)) > 0
    }

    /// The error of a call that must be refused.
    func refusal(_ method: String, _ params: DataObject? = nil) async throws -> Refusal {
        do {
            let result = try await call(method, params)
            throw Missing(what: "a refusal of \(method), which answered \(result)")
        } catch let refusal as Refusal {
            return refusal
        }
    }

    /// The params of the next notification.
    func notification() async throws -> DataItem {
        let message = try await next(.notification)
        expectDeclared(message)
        return message["params"] ?? .null
    }

    /// The next request of the server's, whole.
    func peerRequest() async throws -> DataItem {
        let message = try await next(.request)
        expectDeclared(message)
        return .object(message)
    }

    /// Requests of the server's that have come and that nobody has taken.
    var waitingRequests: Int {
        incoming.count(.request)
    }

    /// Notifications that have come and that nobody has taken.
    var waitingNotifications: Int {
        incoming.count(.notification)
    }

    /// The next message of a kind. At a test's time limit nobody waits on.
    private func next(_ key: IncomingMessages.Key) async throws -> DataObject {
        try await withTaskCancellationHandler {
            try await incoming.next(key)
        } onCancel: {
            Task { await self.giveUp() }
        }
    }

    private func giveUp() {
        incoming.giveUp()
    }

    // MARK: The connection

    /// Sends a line as it is; the line feed is added.
    func send(_ line: String) {
        connection?.write(Array((line + "\n").utf8))
    }

    /// Takes nothing from the socket until ``resumeReading()``.
    func pauseReading() {
        connection?.pauseReading()
    }

    func resumeReading() {
        connection?.resumeReading()
    }

    func close() {
        connection?.close()
    }

    /// Sends nothing more, and still takes answers.
    func shutDown() {
        connection?.shutdownWriting()
    }
}

/// An error that a call was answered with.
struct Refusal: Error, Equatable {
    var code: Int
    /// The reason word of the service's own errors.
    var reason: String?
    /// The path of a wrong parameter.
    var path: String?
    var message: String
    /// All that the error says of itself.
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
    /// A member; null when there is none.
    subscript(key: String) -> DataItem {
        guard case .object(let object) = self else { return .null }
        return object[key] ?? .null
    }

    /// The elements; none unless it is an array.
    var elements: [DataItem] {
        guard case .array(let items) = self else { return [] }
        return items
    }

    /// The element that has this member; null when there is none.
    func element(where key: String, is value: DataItem) -> DataItem {
        elements.first { $0[key] == value } ?? .null
    }
}

extension LineClient {
    /// A board that this client was asked to run.
    struct Run {
        let id: DataItem
        let params: DataItem

        var board: DataItem { params["board"] }
    }

    /// The next board that this client is asked to run.
    func run() async throws -> Run {
        let request = try await peerRequest()
        guard request["method"] == "board.run" else { throw Missing(what: "a board.run instead of \(request)") }
        return Run(id: request["id"], params: request["params"])
    }

    /// The next board that this client is asked to choose a barrier for.
    func choice() async throws -> Run {
        let request = try await peerRequest()
        guard request["method"] == "board.barrier" else { throw Missing(what: "a board.barrier instead of \(request)") }
        return Run(id: request["id"], params: request["params"])
    }

    /// Answers the next board that it is asked to run.
    /// - Returns: what it was asked with.
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

    /// Serves a board behind another.
    func serve(_ board: String, behind barrier: DataObject? = nil) async throws {
        var params: DataObject = ["board": .string(board)]
        if let barrier { params["barrier"] = .object(barrier) }
        try await call("board.serve", params)
    }

    /// Activates a board.
    /// - Returns: the id of the request.
    func activate(_ board: String, _ params: DataObject = [:]) -> Int {
        request("board.activate", DataObject([("board", .string(board))] + params.map { ($0.key, $0.value) }))
    }

    /// The error that a request was answered with, whole.
    func error(to id: Int) async throws -> Refusal {
        do {
            throw Missing(what: "a refusal instead of \(try await answer(to: id))")
        } catch let refusal as Refusal {
            return refusal
        }
    }
}

extension LineClient {
    /// Watches topics, and takes the first notification of each.
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

    /// Takes notifications until one tells of a barrier as it is wanted.
    /// - Returns: the barrier, as the notification has it.
    @discardableResult
    func barrier(_ id: String, where isWanted: (DataItem) -> Bool = { _ in true }) async throws -> DataItem {
        while true {
            let barrier = try await notification()["barriers"].element(where: "id", is: .string(id))
            if barrier != .null, isWanted(barrier) { return barrier }
        }
    }

    /// Takes notifications until one tells that a barrier is gone.
    func removal(of id: String) async throws {
        while try await !notification()["removed"].elements.contains(.string(id)) {}
    }

    /// The barrier of an id in `barrier.list`; null when there is none.
    func listedBarrier(_ id: String) async throws -> DataItem {
        try await call("barrier.list")["barriers"].element(where: "id", is: .string(id))
    }

    /// The dispatcher of an id in `dispatcher.list`.
    func listedDispatcher(_ id: String) async throws -> DataItem {
        try await call("dispatcher.list")["dispatchers"].element(where: "id", is: .string(id))
    }
}
