import Testing

/// Workers that report an outcome for each event.
@Suite struct EventOutcomeTests {
    @Test(
        "K3: delivered events are settled, refused ones dead-lettered, and others retried with their attempts, across a restart"
    )
    func outcomes() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["dispatch_limit": 4])
            try await daemon.track(1...4)
            let worker = try await daemon.connect()
            _ = try await worker.result("dispatcher.subscribe", ["id": "jobs"])
            let first = try await batch(worker)
            #expect(first.ids == ["e1", "e2", "e3", "e4"])
            try await answer(worker, first, ["outcomes": ["e2": "retry", "e3": "dead", "e4": "retry"]])
            let second = try await batch(worker)
            #expect(second.ids == ["e2", "e4"])
            #expect(second.params["attempt"].int == 2)
            try await answer(worker, second, ["outcomes": ["e2": "delivered", "e4": "retry"]])
            let third = try await batch(worker)
            #expect(third.ids == ["e4"])
            #expect(third.params["events"][0]["attempt"].int == 3)
            let jobs = try await daemon.dispatcher("jobs")
            #expect(jobs.contains(["sent": 2, "dead": 1, "failed": 2, "in_flight": 1]))
            worker.close()
            #expect(try await daemon.stop() == 0)
            try await daemon.start()
            let other = try await daemon.connect()
            _ = try await other.result("dispatcher.subscribe", ["id": "jobs"])
            let again = try await batch(other)
            #expect(again.ids == ["e4"])
            try await answer(other, again, [:])
            try await daemon.dispatcher("jobs", until: "the event is settled") { $0["sent"].int == 1 }
        }
    }

    @Test("D10, K3: an event refused by a worker is a dead letter with that reason, one attempt, and no status")
    func refused() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["dispatch_limit": 2])
            try await daemon.track(1...2)
            let worker = try await daemon.connect()
            _ = try await worker.result("dispatcher.subscribe", ["id": "jobs"])
            let first = try await batch(worker)
            try await answer(worker, first, ["outcomes": ["e1": "dead"]])
            try await daemon.dispatcher("jobs", until: "both are settled") {
                $0["dead"].int == 1 && $0["sent"].int == 1
            }
            let deadLetters = try await worker.result("dead_letters.list")["dead_letters"].elements
            let deadLetter = try #require(deadLetters.first)
            #expect(deadLetters.count == 1)
            #expect(deadLetter.contains(["dispatcher": "jobs", "reason": "refused", "status": .null, "attempts": 1]))
            #expect(deadLetter["answer"].string == "refused by a worker")
            #expect(deadLetter["event"]["id"].string == "e1")
        }
    }

    private func batch(_ worker: LineClient) async throws -> (id: Int, params: JSON, ids: [String]) {
        let message = try await worker.message()
        guard message["method"] == "dispatch", let id = message["id"].int else {
            throw NeverHappened("a batch", details: "\(message)")
        }
        return (id, message["params"], message["params"]["events"].elements.compactMap { $0["id"].string })
    }

    private func answer(_ worker: LineClient, _ batch: (id: Int, params: JSON, ids: [String]), _ result: JSON)
        async throws
    {
        let line: JSON = ["jsonrpc": "2.0", "id": JSON(batch.id), "result": result]
        try await worker.send(line.description)
    }
}
