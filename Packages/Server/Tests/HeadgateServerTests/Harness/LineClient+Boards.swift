import HeadgateData

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
