import Foundation
import Testing

/// Servers and daemons that stop and start again.
@Suite struct NATSOutageTests {
    @Test(
        "K4, Q2: restarts of the server during traffic neither lose nor duplicate events, and batches keep order",
        arguments: [(SIGTERM, 10), (SIGKILL, 10), (SIGKILL, 1)])
    func serverRestarts(signal: Int32, limit: Int) async throws {
        try await withScene(waitsLong: true) { scene in
            let node = try await scene.natsNode()
            try await node.createStream()
            let settings = node.dispatcher(["dispatch_limit": JSON(limit)])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let socketPath = daemon.socketPath
            var ids: [String] = []
            for round in 0..<3 {
                async let tracked = StubbornTracker(name: "r\(round)", count: 400, socketPath: socketPath).run()
                try await node.stored(atLeast: ids.count + 20)
                try await node.stop(signal)
                // These events must wait for the server.
                ids += try await daemon.track(round * 20 + 1...round * 20 + 20)
                try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
                try await node.start()
                ids += try await tracked.acknowledged
            }
            let stored = try await node.messages(atLeast: ids.count)
            #expect(stored.compactMap(\.id).sorted() == ids.sorted())
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == ids.count && $0["pending"] == 0 }
            // Part of a larger batch may be in the stream when the server stops. The rest is retried, and is then
            // stored after that part. A batch is not sent before the previous batch is settled (Behaviour Q2).
            guard limit == 1 else { return }
            let numbers = stored.compactMap { $0.event["seq"].int }
            #expect(numbers.count == ids.count && numbers == numbers.sorted())
        }
    }

    @Test("D8: without a server the BackoffBarrier shows the cause, and with the server everything is delivered")
    func noServer() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            try await node.createStream()
            try await node.stop()
            let daemon = try await scene.daemon(["dispatchers": ["collect": node.dispatcher()]])
            let ids = try await daemon.track(1...5)
            try await daemon.barrier("BackoffBarrier:collect", until: "the barrier shows the cause") {
                $0["reason"] == "NATS: no server could be reached"
            }
            #expect(try await daemon.dispatcher().contains(["dead": 0, "sent": 0]))
            try await node.start()
            #expect(try await node.messages(atLeast: 5).map(\.id) == ids)
        }
    }

    @Test("P1, Q3: after repeated kills of the daemon the stream has every id exactly once")
    func daemonKilled() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            try await node.createStream()
            let settings = node.dispatcher(["dispatch_limit": 10, "in_flight": 2])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let socketPath = daemon.socketPath
            async let tracked = StubbornTracker(name: "a", count: 1500, socketPath: socketPath).run()
            for round in 1...3 {
                try await node.stored(atLeast: round * 200)
                try await daemon.killNow()
                try await daemon.start()
            }
            let ids = try await tracked.acknowledged
            let stored = try await node.messages(atLeast: 1500)
            #expect(Set(stored.map(\.id)) == Set(ids))
            #expect(stored.count == 1500)
            try await daemon.dispatcher(until: "all are settled") { $0["pending"] == 0 && $0["in_flight"] == 0 }
        }
    }

    @Test("K4: no event is lost when the stream's leader in a cluster of three is killed")
    func leaderKilled() async throws {
        try await withScene(waitsLong: true) { scene in
            let nodes = try await scene.natsCluster(of: 3)
            try await nodes[0].createStream(["num_replicas": 3])
            let servers = JSON.array(nodes.map { .string($0.url) })
            let settings = nodes[0].dispatcher(["servers": servers, "timeout_ms": 5000])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let socketPath = daemon.socketPath
            async let tracked = StubbornTracker(name: "a", count: 2000, socketPath: socketPath).run()
            try await nodes[0].stored(atLeast: 200)
            let leader = try await nodes[0].ask("a leader") { try $0.stream()["cluster"]["leader"].string }
            let killed = try #require(nodes.first { $0.name == leader })
            try await killed.stop(SIGKILL)
            let ids = try await tracked.acknowledged
            let survivor = try #require(nodes.first { $0.name != leader })
            let stored = try await survivor.messages(atLeast: 2000)
            #expect(Set(stored.map(\.id)) == Set(ids))
            #expect(stored.count == 2000)
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 2000 }
        }
    }

    @Test("D11: an orderly stop delivers the queued events, and leaves nothing to resend")
    func orderlyStop() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            try await node.createStream()
            let daemon = try await scene.daemon(["dispatchers": ["collect": node.dispatcher()]])
            let ids = try await daemon.track(1...200)
            #expect(try await daemon.stop() == 0)
            #expect(try await node.messages(atLeast: 200).map(\.id) == ids)
            try await daemon.start()
            #expect(try await daemon.dispatcher().contains(["pending": 0, "sent": 0]))
        }
    }
}
