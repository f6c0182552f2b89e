import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests the batches of workers that disconnect or do not answer, over real sockets.
@Suite(.timeLimit(.minutes(5))) struct WorkerLossTests {
    @Test("K3: a batch of a worker that disconnects or half-closes goes to another at once", arguments: [true, false])
    func passOn(byHalf: Bool) async throws {
        try await ServiceStage.runWithWorkers { stage in
            let first = try await stage.worker()
            try await stage.trackJobs("a", "b")
            let batch = try await first.batch()
            let second = try await stage.worker()
            if byHalf { await first.shutDown() } else { await first.close() }
            let given = try await second.batch()
            #expect(given.params["batch"] == batch.params["batch"])
            #expect(given.params["attempt"] == 2)
            await second.answer(given)
            let jobs = try await stage.jobs { $0["sent"] == 2 }
            #expect(jobs["failed"] == 1)
        }
    }

    @Test("K3: a worker that half-closes gets no further batches, even while it waits for an answer itself")
    func halfClosed() async throws {
        try await ServiceStage.runWithWorkers { stage in
            let other = try await stage.client()
            try await other.serve("slow")
            let gone = try await stage.worker()
            let own = await gone.activate("slow", ["timeout_ms": 600_000])
            let slow = try await other.run()
            await gone.shutDown()
            _ = try await stage.jobs { $0["blocked_by"].elements.contains("WorkerBarrier:jobs") }
            try await stage.trackJobs("a")
            #expect(try await other.listedDispatcher("jobs")["last_error"] == .null)
            #expect(try await stage.worker().batch().params["attempt"] == 1)
            await other.answer(slow)
            #expect(try await gone.answer(to: own)["done"] == true)
            #expect(await gone.waitingRequests == 0)
        }
    }

    @Test("K3: a worker that does not answer within the lease loses its batch; its late answer does not count")
    func lease() async throws {
        try await ServiceStage.runWithWorkers(["dispatchers": ["jobs": ["lease_ms": 2_000]]], timeStands: true) {
            stage in
            let hung = try await stage.worker()
            try await stage.trackJobs("a")
            let batch = try await hung.batch()
            try await stage.advance(by: .milliseconds(1_999))
            #expect(try await hung.listedDispatcher("jobs")["last_error"] == .null)
            try await stage.advance(by: .milliseconds(1))
            let closed = try await stage.jobs { $0["last_error"] != .null }
            #expect(closed["last_error"] == "no answer from a worker within 2000 ms")
            #expect(closed["blocked_by"].elements.contains("WorkerBarrier:jobs"))
            #expect(try await hung.listedBarrier("WorkerBarrier:jobs")["reason"] == "no subscribed worker answers")
            // If this answer counted, the events would be dead-lettered.
            await hung.answer(batch, ["outcomes": ["a": "dead"]])
            try await hung.call("ping")
            try await stage.advance(by: .seconds(1))
            let again = try await hung.batch()
            #expect(again.ids == ["a"])
            #expect(again.params["attempt"] == 2)
            await hung.answer(again)
            let jobs = try await stage.jobs { $0["sent"] == 1 || $0["dead"] == 1 }
            #expect(jobs["dead"] == 0)
        }
    }

    @Test("K3: when a lease expires, another free worker gets the batch, and the attempt is charged")
    func leaseOver() async throws {
        try await ServiceStage.runWithWorkers(["dispatchers": ["jobs": ["lease_ms": 1_000]]], timeStands: true) {
            stage in
            let hung = try await stage.worker()
            try await stage.trackJobs("a", "b")
            let batch = try await hung.batch()
            let other = try await stage.worker()
            try await other.call("ping")
            #expect(await other.waitingRequests == 0)
            try await stage.advance(by: .seconds(1))
            let given = try await other.batch()
            #expect(given.params["batch"] == batch.params["batch"] && given.ids == ["a", "b"])
            #expect(given.params["attempt"] == 2)
            await other.answer(given)
            let jobs = try await stage.jobs { $0["sent"] == 2 }
            #expect(jobs["failed"] == 1)
        }
    }

    @Test("B6, K3: while the dispatcher is paused, the events of a lost worker go to no other worker")
    func paused() async throws {
        try await ServiceStage.runWithWorkers { stage in
            let (first, client) = (try await stage.worker(), try await stage.client())
            try await stage.trackJobs("a", "b")
            _ = try await first.batch()
            try await client.call("dispatcher.pause", ["id": "jobs"])
            let second = try await stage.worker()
            await first.close()
            _ = try await stage.jobs { $0["pending"] == 2 && $0["in_flight"] == 0 }
            try await second.call("ping")
            #expect(await second.waitingRequests == 0)
            try await client.call("dispatcher.resume", ["id": "jobs"])
            #expect(try await second.batch().ids == ["a", "b"])
        }
    }

    @Test("K3: an event that kills its workers is sent alone, and is then dead-lettered; other events are delivered")
    func poison() async throws {
        let settings: DataObject = ["dispatchers": ["jobs": ["dispatch_limit": 25, "max_attempts": 10]]]
        try await ServiceStage.runWithWorkers(settings) { stage in
            try await stage.trackJobs("good-1", "poison", "good-2")
            var sizes: [Int] = []
            while try await stage.jobs({ $0["in_flight"] == 0 })["pending"] != 0 {
                sizes += try await Self.workUntilKilled(try await stage.worker())
            }
            let jobs = try await stage.jobs { _ in true }
            #expect(jobs["sent"] == 2 && jobs["dead"] == 1 && sizes.prefix(4) == [3, 3, 3, 2])
            let client = try await stage.client()
            let deadLetters = try await client.call("dead_letters.list")["dead_letters"].elements
            #expect(deadLetters.map { $0["event"]["id"] } == ["poison"])
            #expect(deadLetters.map { $0["reason"] } == ["max_attempts"])
            #expect(deadLetters.map { $0["attempts"] } == [10])
            #expect(deadLetters.map { $0["answer"] } == ["the worker disconnected"])
        }
    }

    /// Answers batches until one contains the event `poison`, or none is left. Then disconnects.
    /// - Returns: the number of events of each batch.
    private static func workUntilKilled(_ worker: LineClient) async throws -> [Int] {
        var sizes: [Int] = []
        while true {
            let batch = try await worker.batch()
            sizes.append(batch.ids.count)
            if batch.ids.contains("poison") { break }
            await worker.answer(batch)
            let left = try await worker.listedDispatcher("jobs")
            if left["pending"] == 0, left["in_flight"] == 0 { break }
        }
        await worker.close()
        return sizes
    }

    // MARK: Time to live

    private static let timeToLive = 3_000

    /// Runs `body` with a worker that has a batch with expired events, and a second worker that is free.
    private func withExpired(
        _ ids: [String], _ body: (ServiceStage, _ holder: LineClient, _ heir: LineClient) async throws -> Void
    ) async throws {
        let settings: DataObject = ["dispatchers": ["jobs": ["dispatch_limit": 3, "in_flight": 1]]]
        try await ServiceStage.runWithWorkers(settings, timeStands: true) { stage in
            let (holder, client) = (try await stage.worker(), try await stage.client())
            let events = ids.map { id in
                var event: DataObject = ["event": "e", "id": .string(id)]
                if id.hasPrefix("old") { event["ttl_ms"] = .number(DataNumber(WorkerLossTests.timeToLive)) }
                return DataItem.object(event)
            }
            try await client.call("track_many", ["events": .array(events)])
            #expect(try await holder.batch().ids == ids)
            let heir = try await stage.worker()
            try await stage.advance(by: .milliseconds(WorkerLossTests.timeToLive))
            try await body(stage, holder, heir)
        }
    }

    @Test("Q4, K3: events of a lost worker that are too old by then expire, and the others are sent in order")
    func expired() async throws {
        try await withExpired(["a", "old", "b"]) { stage, holder, heir in
            await holder.close()
            let given = try await heir.batch()
            #expect(given.ids == ["a", "b"])
            #expect(given.params["attempt"] == 2)
            #expect(try await stage.jobs { _ in true }["expired"] == 1)
            await heir.answer(given, ["outcomes": ["b": "dead"]])
            let jobs = try await stage.jobs { $0["dead"] == 1 }
            #expect(jobs["sent"] == 1)
            #expect(jobs["expired"] == 1)
            #expect(jobs["in_flight"] == 0)
        }
    }

    @Test("Q4, K3: if all events of a lost worker's batch are too old, none is sent again")
    func allExpired() async throws {
        try await withExpired(["old-1", "old-2"]) { stage, holder, heir in
            await holder.close()
            let jobs = try await stage.jobs { $0["expired"] == 2 && $0["in_flight"] == 0 }
            #expect(jobs["failed"] == 1)
            #expect(jobs["sent"] == 0)
            try await stage.trackJobs("new")
            #expect(try await heir.batch().ids == ["new"])
        }
    }

    // MARK: Oversize

    private static let small: DataObject = ["dispatchers": ["jobs": ["byte_limit": 10]]]

    @Test("D2, K3: an oversize event whose worker disconnects goes to another worker")
    func oversize() async throws {
        try await ServiceStage.runWithWorkers(WorkerLossTests.small) { stage in
            let first = try await stage.worker()
            try await stage.trackJobs("a")
            _ = try await first.batch()
            let second = try await stage.worker()
            await first.close()
            #expect(try await second.batch().params["attempt"] == 2)
            #expect(try await stage.jobs { _ in true }["failed"] == 1)
            await second.close()
            _ = try await stage.jobs { $0["failed"] == 2 }
            let third = try await stage.worker()
            let batch = try await third.batch()
            #expect(batch.ids == ["a"])
            #expect(batch.params["attempt"] == 3)
            await third.answer(batch)
            let jobs = try await stage.jobs { $0["sent"] == 1 }
            #expect(jobs["dead"] == 0)
        }
    }

    @Test("D2, K3: an oversize event that a worker returns for a retry is dead-lettered as oversize")
    func oversizeRetry() async throws {
        try await ServiceStage.runWithWorkers(WorkerLossTests.small) { stage in
            let worker = try await stage.worker()
            try await stage.trackJobs("a")
            await worker.answer(try await worker.batch(), ["outcomes": ["a": "retry"]])
            _ = try await stage.jobs { $0["dead"] == 1 }
            let deadLetters = try await worker.call("dead_letters.list")["dead_letters"].elements
            #expect(deadLetters.map { $0["reason"] } == ["oversize"])
        }
    }
}
