import Foundation
import Testing

/// The message ids by which a stream recognises events, and its answers to duplicates.
@Suite struct NATSMessageIDTests {
    private func ids(_ node: NATSNode, atLeast count: Int) async throws -> [String] {
        try await node.messages(atLeast: count).compactMap { $0.event["id"].string }.sorted()
    }

    private func duplicates(_ daemon: Daemon, _ dispatcher: String) async throws -> Int? {
        let metrics = try await daemon.ask("metrics")["metrics"].elements
        let metric = metrics.first { $0["name"] == "headgate_dispatcher_duplicates_total" }
        let samples = metric?["samples"].elements ?? []
        return samples.first { $0["labels"]["dispatcher"].string == dispatcher }?["value"].int
    }

    @Test(
        "K4, K8: a stream stores the events of two dispatchers, namespaces and daemons, even with equal ids")
    func allStored() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            try await node.createStream()
            let both: JSON = [
                "dispatchers": ["collect": node.dispatcher(), "second": node.dispatcher(["subject": "shop.b"])]
            ]
            let daemon = try await scene.daemon(both)
            let other = try await scene.daemon(["dispatchers": ["collect": node.dispatcher()]])
            let ids = try await daemon.track(1...10)
            let client = try await daemon.connect()
            defer { client.close() }
            _ = try await client.result("hello", ["client": ["name": "t", "version": "1"], "namespace": "shop"])
            _ = try await client.result("track", ["event": "e1", "id": "e1"])
            _ = try await other.track(1...10)
            let stored = try await self.ids(node, atLeast: 32)
            #expect(stored == (ids + ids + ids + ["e1", "e1"]).sorted())
            #expect(try await duplicates(daemon, "collect") == 0)
        }
    }

    @Test("K4: with message_id event the stream stores an id once, and duplicates are counted and logged")
    func byEvent() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode()
            try await node.createStream()
            let settings: JSON = ["dispatchers": ["collect": node.dispatcher(["message_id": "event"])]]
            let daemon = try await scene.daemon(settings)
            let other = try await scene.daemon(settings)
            let ids = try await daemon.track(1...3)
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 3 }
            _ = try await other.track(2...4)
            try await other.dispatcher(until: "all are settled") { $0["sent"] == 3 }
            #expect(try await self.ids(node, atLeast: 4) == ids + ["e4"])
            #expect(try await duplicates(daemon, "collect") == 0)
            #expect(try await duplicates(other, "collect") == 2)
            #expect(other.log.contains("the destination already had"))
            #expect(try await other.stop() == 0)
        }
    }
}
