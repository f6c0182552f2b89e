import HeadgateData

@testable import HeadgateServer

/// Test support for a service with a dispatcher `jobs` of kind `worker`.
extension ServiceStage {
    /// Runs `body` with a service whose only dispatcher is `jobs`, with batches of two events and a very short backoff.
    static func runWithWorkers(
        _ settings: DataObject = [:], timeStands: Bool = false, _ body: (ServiceStage) async throws -> Void
    ) async throws {
        let jobs: DataObject = [
            "dispatchers": [
                "archive": nil,
                "jobs": ["kind": "worker", "dispatch_limit": 2, "backoff": ["base_ms": 1, "cap_ms": 1]],
            ]
        ]
        try await run(jobs.patched(with: settings), timeStands: timeStands, body)
    }

    /// Connects a client and subscribes it to `jobs`.
    nonisolated func worker(credit: Int = 1, limit: Int? = nil) async throws -> LineClient {
        let worker = try await client()
        var params: DataObject = ["id": "jobs", "credit": .number(DataNumber(credit))]
        params["limit"] = limit.map { .number(DataNumber($0)) }
        _ = try await worker.call("dispatcher.subscribe", params)
        return worker
    }

    /// Tracks events for `jobs` in one call.
    nonisolated func trackJobs(_ ids: String..., timeToLive: Int? = nil) async throws {
        let client = try await client()
        let events = ids.map { id in
            var event: DataObject = ["event": "e", "id": .string(id), "dispatchers": ["jobs"]]
            event["ttl_ms"] = timeToLive.map { .number(DataNumber($0)) }
            return DataItem.object(event)
        }
        try await client.call("track_many", ["events": .array(events)])
    }

    /// Waits until the dispatcher `jobs` fulfils the condition. Returns its entry of `dispatcher.list`.
    nonisolated func jobs(_ isAsItShould: (DataItem) -> Bool) async throws -> DataItem {
        let client = try await client()
        while true {
            let jobs = try await client.listedDispatcher("jobs")
            if isAsItShould(jobs) { return jobs }
            try Task.checkCancellation()
        }
    }
}

/// A `dispatch` request that a worker got.
struct WorkerBatch {
    let request: Int
    let params: DataItem

    var ids: [String] { params["events"].elements.compactMap { $0["id"].get() } }
}

extension LineClient {
    /// Returns the next batch that the worker gets.
    func batch() async throws -> WorkerBatch {
        let request = try await peerRequest()
        guard request["method"] == "dispatch", let id: Int = request["id"].get() else {
            throw Missing(what: "a batch; there is \(request)")
        }
        return WorkerBatch(request: id, params: request["params"])
    }

    /// Answers a batch.
    func answer(_ batch: WorkerBatch, _ result: DataObject = [:]) {
        var line = JSONWriter()
        line.object(["jsonrpc": "2.0", "id": .number(DataNumber(batch.request)), "result": .object(result)])
        send(line.text)
    }
}
