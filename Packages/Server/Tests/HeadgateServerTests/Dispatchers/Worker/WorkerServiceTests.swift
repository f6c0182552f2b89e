import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests dispatchers of kind `worker` over real sockets.
@Suite(.timeLimit(.minutes(5))) struct WorkerServiceTests {
    @Test("K3: a worker gets as many batches as its credit, and another one for each answer")
    func batches() async throws {
        try await ServiceStage.runWithWorkers { stage in
            try await stage.trackJobs("a", "b", "c")
            let worker = try await stage.worker()
            let first = try await worker.batch()
            #expect(first.params["dispatcher"] == "jobs")
            let name: String? = first.params["batch"].get()
            #expect(name?.isEmpty == false)
            #expect(first.params["attempt"] == 1)
            #expect(first.ids == ["a", "b"])
            try await worker.call("ping")
            #expect(await worker.waitingRequests == 0)
            await worker.answer(first)
            let second = try await worker.batch()
            #expect(second.ids == ["c"])
            await worker.answer(second)
            let jobs = try await stage.jobs { $0["sent"] == 3 }
            #expect(jobs["in_flight"] == 0)
            #expect(jobs["last_error"] == .null)
        }
    }

    @Test("K3: credit is 1 by default: the worker gets the next batch after its answer")
    func defaultCredit() async throws {
        try await ServiceStage.runWithWorkers { stage in
            try await stage.trackJobs("a", "b", "c", "d", "e")
            let worker = try await stage.client()
            try await worker.call("dispatcher.subscribe", ["id": "jobs"])
            for ids in [["a", "b"], ["c", "d"], ["e"]] {
                let batch = try await worker.batch()
                #expect(batch.ids == ids)
                try await worker.call("ping")
                #expect(await worker.waitingRequests == 0)
                await worker.answer(batch)
            }
            _ = try await stage.jobs { $0["sent"] == 5 }
        }
    }

    @Test("K3, Q7: events with the same id, of two namespaces or spellings, go in two batches, each with its outcome")
    func sameId() async throws {
        try await ServiceStage.runWithWorkers(["dispatchers": ["jobs": ["dispatch_limit": 5]]]) { stage in
            for (namespace, event) in [("n1", "one"), ("n2", "two"), ("n3", "three")] {
                let client = try await stage.client()
                let identity: DataObject = ["name": "shop"]
                try await client.call("hello", ["client": .object(identity), "namespace": .string(namespace)])
                let id = namespace == "n1" ? #"a"# : #"\u0061"#
                await client.send(
                    #"{"jsonrpc":"2.0","id":9,"method":"track","params":{"event":"\#(event)","id":"\#(id)"}}"#)
                _ = try await client.message(to: 9)
            }
            let worker = try await stage.worker()
            for (event, word) in [("one", "delivered"), ("two", "dead"), ("three", "delivered")] {
                let batch = try await worker.batch()
                #expect(batch.params["events"].elements.map { $0["event"] } == [.string(event)])
                await worker.answer(batch, ["outcomes": ["a": .string(word)]])
            }
            let jobs = try await stage.jobs { $0["sent"] == 2 }
            #expect(jobs["dead"] == 1)
        }
    }

    @Test("K3: several workers have batches at once; events of one key are sent one after the other (Q2)")
    func parallel() async throws {
        try await ServiceStage.runWithWorkers(["dispatchers": ["jobs": ["dispatch_limit": 1]]]) { stage in
            let workers = [try await stage.worker(), try await stage.worker(), try await stage.worker()]
            let client = try await stage.client()
            let keys = [("k1", "k"), ("k2", "k"), ("m1", "m")]
            let events = keys.map { DataItem.object(["event": "e", "id": .string($0.0), "key": .string($0.1)]) }
            try await client.call("track_many", ["events": .array(events)])
            let batches = [try await workers[0].batch(), try await workers[1].batch()]
            #expect(batches.map(\.ids) == [["k1"], ["m1"]])
            #expect(try await client.listedDispatcher("jobs")["in_flight"] == 2)
            #expect(await workers[2].waitingRequests == 0)
            await workers[0].answer(batches[0])
            #expect(try await workers[2].batch().ids == ["k2"])
        }
    }

    @Test("K3, Q2: in_flight bounds the batches of all workers together")
    func inFlight() async throws {
        try await ServiceStage.runWithWorkers(["dispatchers": ["jobs": ["dispatch_limit": 1, "in_flight": 1]]]) {
            stage in
            let (first, second) = (try await stage.worker(), try await stage.worker())
            try await stage.trackJobs("a", "b")
            let batch = try await first.batch()
            let client = try await stage.client()
            #expect(try await client.listedDispatcher("jobs")["in_flight"] == 1)
            #expect(await second.waitingRequests == 0)
            await first.answer(batch)
            #expect(try await second.batch().ids == ["b"])
        }
    }

    @Test("K3, S3: a changed lease applies from the next batch, also for subscribed workers")
    func otherLease() async throws {
        try await ServiceStage.runWithWorkers(timeStands: true) { stage in
            let (first, second) = (try await stage.worker(), try await stage.worker())
            let lease: DataObject = ["dispatchers": ["jobs": ["lease_ms": 1_000]]]
            try await first.call("config.set", ["patch": .object(lease)])
            try await stage.trackJobs("a")
            #expect(try await first.batch().ids == ["a"])
            for milliseconds in [999, 1] {
                #expect(await second.waitingRequests == 0)
                try await stage.advance(by: .milliseconds(milliseconds))
                try await second.call("ping")
            }
            #expect(await second.waitingRequests == 1)
        }
    }

    @Test("K3: limit bounds the events of a batch for that worker; subscribing again replaces it")
    func limit() async throws {
        try await ServiceStage.runWithWorkers { stage in
            let worker = try await stage.worker(limit: 1)
            try await stage.trackJobs("a", "b", "c")
            let batch = try await worker.batch()
            #expect(batch.ids == ["a"])
            try await worker.call("dispatcher.subscribe", ["id": "jobs", "credit": 2])
            let next = try await worker.batch()
            #expect(next.ids == ["b", "c"])
            await worker.answer(batch)
            await worker.answer(next)
            _ = try await stage.jobs { $0["sent"] == 3 }
        }
    }

    @Test("B10: without a worker the dispatcher is blocked, with the reason")
    func noWorker() async throws {
        try await ServiceStage.runWithWorkers { stage in
            try await stage.trackJobs("a")
            let client = try await stage.client()
            let jobs = try await client.listedDispatcher("jobs")
            #expect(jobs["blocked_by"] == ["WorkerBarrier:jobs"])
            #expect(jobs["pending"] == 1)
            #expect(jobs["in_flight"] == 0)
            #expect(try await client.listedBarrier("WorkerBarrier:jobs")["reason"] == "no worker subscribes")
            let worker = try await stage.worker()
            let batch = try await worker.batch()
            #expect(try await client.listedBarrier("WorkerBarrier:jobs")["states"] == ["jobs": "open"])
            #expect(try await client.listedBarrier("WorkerBarrier:jobs")["reason"] == .null)
            await worker.close()
            #expect(batch.ids == ["a"])
            let held = try await stage.jobs { $0["last_error"] != .null }
            #expect(held["last_error"] == "the worker disconnected")
            #expect(held["blocked_by"].elements.contains("WorkerBarrier:jobs"))
        }
    }

    @Test("K3: a worker's answer gives each event its own outcome: delivered, retry or dead")
    func outcomes() async throws {
        try await ServiceStage.runWithWorkers(["dispatchers": ["jobs": ["dispatch_limit": 3]]]) { stage in
            try await stage.trackJobs("a", "b", "c")
            let worker = try await stage.worker()
            await worker.answer(try await worker.batch(), ["outcomes": ["a": "retry", "b": "dead"]])
            let again = try await worker.batch()
            #expect(again.ids == ["a"])
            #expect(again.params["attempt"] == 2)
            #expect(again.params["events"].elements.first?["attempt"] == 2)
            await worker.answer(again, ["outcomes": ["a": "delivered"]])
            let jobs = try await stage.jobs { $0["sent"] == 2 }
            #expect(jobs["dead"] == 1)
            #expect(jobs["failed"] == 1)
        }
    }

    @Test("K3: an error returns all events, with the worker's message")
    func refusal() async throws {
        try await ServiceStage.runWithWorkers { stage in
            try await stage.trackJobs("a", "b")
            let worker = try await stage.worker()
            let batch = try await worker.batch()
            await worker.send(#"{"jsonrpc":"2.0","id":\#(batch.request),"error":{"code":-1,"message":"disk full"}}"#)
            let again = try await worker.batch()
            #expect(again.ids == ["a", "b"])
            #expect(again.params["batch"] == batch.params["batch"])
            let client = try await stage.client()
            #expect(try await client.listedDispatcher("jobs")["last_error"] == "worker: disk full")
        }
    }

    @Test(
        "K3: a malformed answer settles no event, and the dispatcher's last error names the fault",
        arguments: [
            (#"[]"#, "the result must be an object"), (#""done""#, "the result must be an object"),
            (#"{"outcomes":null}"#, "outcomes: must be an object"),
            (#"{"outcomes":{"a":"ok"}}"#, #"outcomes.a: must be one of "delivered", "retry", "dead""#),
            (#"{"outcomes":{"a":1}}"#, #"outcomes.a: must be one of "delivered", "retry", "dead""#),
            (#"{"outcomes":{"\u0061":""}}"#, #"outcomes.a: must be one of "delivered", "retry", "dead""#),
            (#"{"outcomes":{"z":"retry"}}"#, "outcomes: no event z in the batch"),
        ])
    func malformed(_ result: String, _ problem: String) async throws {
        try await ServiceStage.runWithWorkers { stage in
            try await stage.trackJobs("a", "b")
            let worker = try await stage.worker()
            let batch = try await worker.batch()
            await worker.send(#"{"jsonrpc":"2.0","id":\#(batch.request),"result":\#(result)}"#)
            #expect(try await worker.batch().ids == ["a", "b"])
            let jobs = try await worker.listedDispatcher("jobs")
            #expect(jobs["last_error"] == .string("malformed answer from a worker: \(problem)"))
            #expect(jobs["sent"] == 0)
        }
    }

    @Test("X2, K3: a worker that does not read gets no more than max_output_bytes, whatever its credit, until it reads")
    func notReading() async throws {
        let settings: DataObject = [
            "limits": ["max_output_bytes": 100_000],
            // On a busy machine the default lease may expire, and then a batch is sent twice.
            "dispatchers": ["jobs": ["dispatch_limit": 1, "lease_ms": 3_600_000]],
        ]
        try await ServiceStage.runWithWorkers(settings) { stage in
            let (worker, client) = (try await stage.worker(credit: 1_000), try await stage.client())
            await worker.pauseReading()
            let data: DataObject = ["blob": .string(String(repeating: "x", count: 30_000))]
            let events = (1...60).map { _ in DataItem.object(["event": "e", "data": .object(data)]) }
            for half in [events.prefix(30), events.suffix(30)] {
                try await client.call("track_many", ["events": .array(Array(half))])
            }
            // Beside the daemon's buffer, the kernel's socket buffers hold further batches.
            let jobs = try await stage.jobs { $0["in_flight"] != 0 }
            let inFlight: Int = try #require(jobs["in_flight"].get())
            #expect(inFlight < 40)
            #expect(jobs["state"] == "open")
            await worker.resumeReading()
            for _ in events { await worker.answer(try await worker.batch()) }
            _ = try await stage.jobs { $0["sent"] == 60 }
        }
    }

    @Test("dispatcher.unsubscribe is answered when the worker's batches in flight are settled")
    func unsubscribe() async throws {
        try await ServiceStage.runWithWorkers { stage in
            let worker = try await stage.worker()
            try await stage.trackJobs("a", "b", "c")
            let batch = try await worker.batch()
            let leaving = await worker.request("dispatcher.unsubscribe", ["id": "jobs"])
            try await worker.call("ping")
            #expect(await !worker.hasAnswer(to: leaving))
            await worker.answer(batch)
            #expect(try await worker.answer(to: leaving) == [:])
            let jobs = try await stage.jobs { $0["sent"] == 2 }
            #expect(jobs["pending"] == 1)
            #expect(await worker.waitingRequests == 0)
            let refusal = try await worker.refusal("dispatcher.unsubscribe", ["id": "jobs"])
            #expect(refusal.reason == "not_found")
        }
    }

    @Test("Only dispatchers of kind worker can be subscribed to; credit and limit have bounds")
    func refused() async throws {
        try await ServiceStage.runWithWorkers { stage in
            let client = try await stage.client()
            #expect(try await client.refusal("dispatcher.subscribe", ["id": "none"]).reason == "not_found")
            #expect(try await client.refusal("dispatcher.subscribe", ["id": "collect"]).reason == "conflict")
            #expect(try await client.refusal("dispatcher.unsubscribe", ["id": "collect"]).reason == "not_found")
            for (name, value) in [("credit", 0), ("credit", 1025), ("limit", 0)] {
                var params: DataObject = ["id": "jobs"]
                params[name] = .number(DataNumber(value))
                #expect(try await client.refusal("dispatcher.subscribe", params).path == name)
            }
        }
    }

    @Test("S3: a change of the settings ends no subscription, even if the dispatcher is removed and added again")
    func settingsChange() async throws {
        try await ServiceStage.runWithWorkers { stage in
            let worker = try await stage.worker()
            try await stage.trackJobs("a")
            let batch = try await worker.batch()
            let client = try await stage.client()
            try await client.call("config.set", ["patch": ["dispatchers": ["jobs": ["lease_ms": 20_000]]]])
            await worker.answer(batch)
            _ = try await stage.jobs { $0["sent"] == 1 }
            try await stage.trackJobs("b")
            await worker.answer(try await worker.batch())
            _ = try await stage.jobs { $0["sent"] == 2 }
            let file: DataObject = ["kind": "file", "path": "jobs.ndjson", "lease_ms": .null]
            try await client.call("config.set", ["patch": ["dispatchers": ["jobs": .object(file)]]])
            #expect(try await client.listedBarrier("WorkerBarrier:jobs") == .null)
            #expect(try await client.refusal("dispatcher.subscribe", ["id": "jobs"]).reason == "conflict")
            try await stage.trackJobs("c")
            _ = try await stage.jobs { $0["sent"] == 3 }
            try await client.call(
                "config.set", ["patch": ["dispatchers": ["jobs": ["kind": "worker", "path": .null]]]])
            try await stage.trackJobs("d")
            #expect(try await worker.batch().ids == ["d"])
        }
    }
}
