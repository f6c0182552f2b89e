import Foundation
import Testing

/// Workers and daemons that stop while they hold a batch.
@Suite struct HeldBatchTests {
    /// Appends the batch with one write, so that a killed worker leaves no partial batch.
    private static let writer = "cat >> ~/got"

    @Test("K3: the batch of a killed worker is sent to another at once")
    func killedWorker() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["dispatch_limit": 1])
            try await daemon.track(1...2)
            let victim = try WorkerProcess(on: daemon, script: "echo >> ~/begun; exec sleep 600")
            try await eventually("the first batch") { daemon.lines(of: "begun").count == 1 }
            let heir = try WorkerProcess(on: daemon, script: Self.writer)
            try await eventually("the second batch") { try daemon.ids(in: "got") == ["e2"] }
            try await daemon.dispatcher("jobs", until: "the second worker is free") { $0["sent"].int == 1 }
            victim.process.signal(SIGKILL)
            let jobs = try await daemon.dispatcher("jobs", until: "all are settled") { $0["sent"].int == 2 }
            #expect(jobs["failed"].int == 1)
            #expect(
                daemon.log.contains("dispatcher jobs lost headgate/") && daemon.log.contains("the worker disconnected"))
            #expect(try daemon.ids(in: "got") == ["e2", "e1"])
            #expect(try await heir.stop() == 0)
        }
    }

    @Test(
        "Q3: workers wait for a killed or stopped daemon, and nothing is lost", arguments: [SIGKILL, SIGTERM])
    func restart(signal: Int32) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["dispatch_limit": 3])
            let workers = try (1...2).map { _ in try WorkerProcess(on: daemon, script: Self.writer) }
            var ids: [String] = []
            for round in 0..<4 {
                ids += try await daemon.track((round * 50 + 1)...(round * 50 + 50))
                daemon.process?.signal(signal)
                _ = try await daemon.process?.exitCode()
                try await daemon.start()
            }
            try await eventually("all events") { try Set(daemon.ids(in: "got")) == Set(ids) }
            try await daemon.dispatcher("jobs", until: "an empty queue") {
                $0["pending"].int == 0 && $0["in_flight"].int == 0
            }
            for worker in workers { #expect(try await worker.stop() == 0) }
            #expect(workers[0].process.errorOutput.contains("reconnecting"))
        }
    }

    @Test("K3: a command that continues during a restart of the daemon uses credit, so that no two run at once")
    func restartWhileRunning() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["dispatch_limit": 1])
            let script = "echo begin >> ~/told; until [ -e ~/go ]; do sleep 0.01; done; echo end >> ~/told"
            let worker = try WorkerProcess(on: daemon, script: script)
            try await daemon.track(1...2)
            try await eventually("the first batch") { daemon.lines(of: "told") == ["begin"] }
            daemon.process?.signal(SIGKILL)
            _ = try await daemon.process?.exitCode()
            try await daemon.start()
            // The worker has the batch again, while the earlier command still runs.
            try await daemon.dispatcher("jobs", until: "the batch is in flight") { $0["in_flight"].int == 1 }
            daemon.touch("go")
            try await daemon.dispatcher("jobs", until: "all are settled") { $0["sent"].int == 2 }
            #expect(daemon.lines(of: "told") == ["begin", "end", "begin", "end", "begin", "end"])
            #expect(try await worker.stop() == 0)
        }
    }

    @Test("D11: an orderly stop of the daemon lets a worker finish")
    func orderlyStop() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["dispatch_limit": 1], top: ["shutdown_timeout_ms": 120_000])
            let script = "echo >> ~/begun; until [ -e ~/go ]; do sleep 0.01; done; cat >> ~/got"
            let worker = try WorkerProcess(on: daemon, script: script)
            try await daemon.track(1...1)
            try await eventually("the batch") { daemon.lines(of: "begun").count == 1 }
            daemon.process?.signal(SIGTERM)
            try await eventually("a closed socket") { (try? await LineClient(daemon.socketPath)) == nil }
            #expect(daemon.process?.isRunning == true)
            daemon.touch("go")
            #expect(try await daemon.process?.exitCode() == 0)
            #expect(try daemon.ids(in: "got") == ["e1"])
            try await daemon.start()
            let jobs = try await daemon.dispatcher("jobs")
            #expect(jobs.contains(["pending": 0, "in_flight": 0]))
            #expect(try await worker.stop() == 0)
        }
    }

    @Test("D11: a worker that does not finish delays a stop by at most shutdown_timeout_ms")
    func boundedStop() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(top: ["shutdown_timeout_ms": 300])
            let worker = try WorkerProcess(on: daemon, script: "echo >> ~/begun; exec sleep 600")
            try await daemon.track(1...1)
            try await eventually("the batch") { daemon.lines(of: "begun").count == 1 }
            #expect(try await daemon.stop() == 0)
            try await daemon.start()
            #expect(try await daemon.dispatcher("jobs").contains(["sent": 0, "failed": 0]))
            worker.process.signal(SIGKILL)
        }
    }

    @Test("Q2, K3: with several, failing and killed workers each key arrives in order, and nothing is lost")
    func order() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["dispatch_limit": 3])
            // Fails at random before it does anything; otherwise it appends its lines with one write.
            let script = #"[ $(($$ % 5)) = 0 ] && exit 1; cat >> ~/got"#
            let workers = try (1...3).map { _ in try WorkerProcess(on: daemon, ["--credit", "2"], script: script) }
            let client = try await daemon.connect()
            for number in 0..<240 {
                let params: JSON = [
                    "event": "x", "id": .string("e\(number)"), "key": .string("k\(number * 7 % 5)"), "data": [:],
                ]
                _ = try await client.result("track", params)
                if number == 120 { workers[0].process.signal(SIGKILL) }
            }
            try await daemon.dispatcher("jobs", until: "all are settled") { $0["sent"].int == 240 }
            let arrived = try daemon.lines(of: "got").map { try JSON(parsing: $0) }
            for key in 0..<5 {
                // A killed worker may have written its batch, which another worker then gets again. Only the first
                // occurrence counts.
                var seen: Set<Int> = []
                let firsts = arrived.filter { $0["key"].string == "k\(key)" }.compactMap { $0["seq"].int }
                    .filter { seen.insert($0).inserted }
                #expect(firsts.count == 48)
                #expect(firsts == firsts.sorted(), "k\(key)")
            }
            for worker in workers.dropFirst() { #expect(try await worker.stop() == 0) }
        }
    }
}
