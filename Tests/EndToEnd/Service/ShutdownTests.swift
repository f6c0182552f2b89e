import Foundation
import Testing

/// The orderly stop.
@Suite struct ShutdownTests {
    private static let noFlush: JSON = ["flush_on": ["start": false, "shutdown": false]]

    @Test(
        "D11: on SIGTERM batches in flight finish, the rest stays stored, and the exit code is 0",
        arguments: [SIGTERM, SIGINT])
    func inFlightFinishes(signal: Int32) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let top = Self.noFlush.merging(["shutdown_timeout_ms": 120_000])
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 2], top: top)
            try await daemon.pause()
            let ids = try await daemon.track(1...6)
            try await daemon.resume()
            try await collector.requests(atLeast: 1)
            let client = try await daemon.connect()
            #expect(try await client.result("status")["ready"] == true)
            daemon.process?.signal(signal)
            #expect(try await client.message().contains(["method": "closing", "params": ["reason": "shutting_down"]]))
            collector.release()
            #expect(try await daemon.process?.exitCode() == 0)
            #expect(collector.acceptedIDs == ["e1", "e2"])
            #expect(collector.requests.count == 1)

            try await daemon.start()
            #expect(try await collector.acceptedIDs(atLeast: 6) == ids)
            try await daemon.dispatcher(until: "an empty queue") { $0["pending"].int == 0 && $0["in_flight"].int == 0 }
            #expect(collector.acceptedIDs == ids)
        }
    }

    @Test("D11: the stop is limited by shutdown_timeout_ms, and interrupted events are sent again with their ids")
    func stopIsBounded() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let top = Self.noFlush.merging(["shutdown_timeout_ms": 300])
            let daemon = try await scene.daemon(sendingTo: collector, top: top)
            let ids = try await daemon.track(1...1)
            try await collector.requests(atLeast: 1)
            #expect(try await daemon.stop() == 0)
            try await daemon.start()
            try await collector.requests(atLeast: 2)
            #expect(collector.requests[1].ids == ids)
        }
    }

    @Test("D11, P1: a hanging disk does not delay the stop, is logged, and loses no acknowledged event")
    func diskHangs() async throws {
        try await withScene { scene in
            let fault = try await MachineFault.hangingSync(in: scene.directory.path)
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            daemon.environment = fault.environment
            try daemon.configure([
                "dispatchers": ["collect": collector.dispatcher()], "shutdown_timeout_ms": 100,
                "flush_on": ["start": false],
            ])
            try await daemon.start()
            try await daemon.pause()
            let ids = try await daemon.track(1...3)
            try fault.set(true)
            let client = try await daemon.connect()
            _ = try await client.request("track", ["event": "never acknowledged"])
            _ = try await client.result("ping")
            #expect(try await daemon.stop() == 1)
            try await daemon.logs("without an answer from the event store")
            try fault.set(false)
            try await daemon.start()
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 3).prefix(3) == ids[...])
        }
    }

    @Test("D11: the stop interrupts a wait for a retry")
    func stopInterruptsWaits() async throws {
        try await withScene { scene in
            let collector = try scene.collector(listening: false)
            // Longer than the time limit of a test.
            let top = Self.noFlush.merging(["shutdown_timeout_ms": 600_000])
            let daemon = try await scene.daemon(sendingTo: collector, OutageTests.slow, top: top)
            try await daemon.track(1...3)
            try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            #expect(try await daemon.stop() == 0)
        }
    }

    @Test("P1: no acknowledged event is lost by tracking during a stop")
    func stoppedWhileTracking() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let socketPath = daemon.socketPath
            async let outcome = StubbornTracker(name: "s", count: 500, socketPath: socketPath).run()
            for stop in 1...3 {
                try await collector.acceptedIDs(atLeast: stop * 80)
                #expect(try await daemon.stop() == 0)
                try await daemon.start()
            }
            let acknowledged = try await outcome.acknowledged
            try await eventually("all events at the collector") {
                Set(collector.acceptedIDs).isSuperset(of: acknowledged)
            }
            #expect(acknowledged.count == 500)
        }
    }

    @Test("D11: during a stop events are refused as shutting_down, status is not ready, and pings are answered")
    func refusesWhileStopping() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let top = Self.noFlush.merging(["shutdown_timeout_ms": 120_000])
            let daemon = try await scene.daemon(sendingTo: collector, top: top)
            let ids = try await daemon.track(1...1)
            try await collector.requests(atLeast: 1)
            let client = try await daemon.connect()
            #expect(try await client.result("status")["ready"] == true)
            daemon.process?.signal(SIGTERM)
            #expect(try await client.message().contains(["method": "closing", "params": ["reason": "shutting_down"]]))
            for (method, params) in [("track", ["event": "x"]), ("track_many", ["events": [["event": "x"]]])]
                as [(String, JSON)]
            {
                let error = try await client.refusal(method, params)
                #expect(error.contains(["code": -32_000, "data": ["reason": "shutting_down"]]), "\(method)")
            }
            #expect(try await client.result("status").contains(["ready": false, "store": ["events": 1]]))
            #expect(try await client.result("ping") == [:])
            collector.release()
            #expect(try await daemon.process?.exitCode() == 0)
            #expect(try await client.nextLine() == nil)
            #expect(collector.acceptedIDs == ids)
        }
    }

    @Test("D11: a waiting flush is answered on SIGTERM")
    func flushAnswered() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: Self.noFlush)
            try await daemon.pause()
            try await daemon.track(1...2)
            let client = try await daemon.connect()
            try await client.send(#"{"jsonrpc":"2.0","id":"f","method":"flush","params":{"wait":true,"timeout_ms":0}}"#)
            #expect(try await client.result("ping") == [:])
            daemon.process?.signal(SIGTERM)
            var answer: JSON?
            while let line = try await client.nextLine() {
                let message = try JSON(parsing: line)
                if message["id"] == "f" { answer = message["result"] }
            }
            #expect(answer?["ended"] == "cancelled" && answer?["dispatchers"]["collect"]["left"] == 2)
            #expect(try await daemon.process?.exitCode() == 0)
        }
    }

    @Test("A stop closes the connections of its clients")
    func connectionsEnd() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try await daemon.connect()
            #expect(try await client.result("ping") == [:])
            #expect(try await daemon.stop() == 0)
            while let line = try await client.nextLine() {
                #expect(try JSON(parsing: line)["method"] == "closing")
            }
        }
    }
}
