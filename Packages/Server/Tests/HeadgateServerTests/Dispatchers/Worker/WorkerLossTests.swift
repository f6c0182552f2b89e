import HeadgateData
import Testing

@testable import HeadgateServer

/// Workers that go away or are silent, over real sockets: what becomes of what they had in hand.
@Suite(.timeLimit(.minutes(1))) struct WorkerLossTests {
    @Test("K3: who goes away loses its batch to another at once, closed or half-closed", arguments: [true, false])
    func handOver(byHalf: Bool) async throws {
        try await ServiceStage.runWithWorkers { stage in
            let first = try await stage.worker()
            try await stage.trackJobs("a", "b")
            let batch = try await first.batch()
            let second = try await stage.worker()
            if byHalf { await first.shutDown() } else { await first.close() }
            let given = try await second.batch()
            #expect(given.params["batch"] == batch.params["batch"])
            #expect(given.params["attempt"] == 1)
            await second.answer(given)
            let jobs = try await stage.jobs { $0["sent"] == 2 }
            #expect(jobs["failed"] == 0)
        }
    }

    @Test("K3: a worker that does not answer within the lease loses its batch; its late answer does not count")
    func lease() async throws {
        try await ServiceStage.runWithWorkers(["dispatchers": ["jobs": ["lease_ms": 2_000]]]) { stage in
            let hung = try await stage.worker()
            try await stage.trackJobs("a")
            let batch = try await hung.batch()
            let closed = try await stage.jobs { $0["last_error"] != .null }
            #expect(closed["last_error"] == "no answer from a worker within 2000 ms")
            #expect(closed["blocked_by"].elements.contains("WorkerBarrier:jobs"))
            #expect(try await hung.listedBarrier("WorkerBarrier:jobs")["reason"] == "no worker answers")
            // Dead, if it counted.
            await hung.answer(batch, ["outcomes": ["a": "dead"]])
            let again = try await hung.batch()
            #expect(again.ids == ["a"])
            #expect(again.params["attempt"] == 1)
            await hung.answer(again)
            let jobs = try await stage.jobs { $0["sent"] == 1 || $0["dead"] == 1 }
            #expect(jobs["dead"] == 0)
        }
    }

    @Test("K3: when a lease is over, another worker who is free gets the batch; no attempt is charged (D9)")
    func leaseOver() async throws {
        try await ServiceStage.runWithWorkers(["dispatchers": ["jobs": ["lease_ms": 1_000]]]) { stage in
            let hung = try await stage.worker()
            try await stage.trackJobs("a", "b")
            let batch = try await hung.batch()
            // The one who gets it has time.
            let patch: DataObject = ["dispatchers": ["jobs": ["lease_ms": 60_000]]]
            try await hung.call("config.set", ["patch": .object(patch)])
            let other = try await stage.worker()
            let given = try await other.batch()
            #expect(given.params == batch.params)
            #expect(given.params["attempt"] == 1)
            await other.answer(given)
            let jobs = try await stage.jobs { $0["sent"] == 2 }
            #expect(jobs["failed"] == 0)
        }
    }

    @Test("B6: a batch that was taken is handed over though the dispatcher is paused since")
    func paused() async throws {
        try await ServiceStage.runWithWorkers { stage in
            let (first, client) = (try await stage.worker(), try await stage.client())
            try await stage.trackJobs("a", "b")
            _ = try await first.batch()
            try await client.call("dispatcher.pause", ["id": "jobs"])
            let second = try await stage.worker()
            await first.close()
            #expect(try await second.batch().ids == ["a", "b"])
        }
    }
}
