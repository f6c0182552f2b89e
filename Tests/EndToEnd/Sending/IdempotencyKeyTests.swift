import Testing

/// K8: the keys by which a destination recognises a batch that is sent again.
@Suite struct IdempotencyKeyTests {
    private func keys(_ collector: Collector, atLeast count: Int) async throws -> [String] {
        try await collector.requests(atLeast: count).map { $0.headers["idempotency-key"] ?? "" }
    }

    @Test("K8: attempts have one key; dispatchers, machines, namespaces, requeues and rewinds have different ones")
    func distinct() async throws {
        try await withScene { scene in
            let (first, second) = (try scene.collector(), try scene.collector())
            let top: JSON = ["store": ["retain": ["max_age_s": 3_600]]]
            let dispatcher: JSON = ["dispatch_limit": 1, "backoff": ["base_ms": 1, "cap_ms": 1]]
            first.answerNext(.status(503), .status(503), .accepted, .status(400))
            let both = ["a": first.dispatcher(dispatcher), "b": second.dispatcher(dispatcher)]
            let daemon = try await scene.daemon(top.merging(["dispatchers": .object(both)]))

            // Three attempts at one event.
            try await daemon.track(1...1)
            let attempts = try await keys(first, atLeast: 3)
            #expect(Set(attempts).count == 1 && !attempts[0].isEmpty)
            var all = [attempts[0]] + (try await keys(second, atLeast: 1))

            // The same id in another namespace becomes a dead letter of dispatcher a, and is requeued.
            let client = try await daemon.connect()
            _ = try await client.result("hello", ["client": ["name": "shop"], "namespace": "shop"])
            _ = try await client.result("track", ["event": "e1", "id": "e1"])
            try await daemon.dispatcher("a", until: "a dead letter") { $0["dead"] == 1 }
            all += try await keys(first, atLeast: 4).suffix(1)
            all += try await keys(second, atLeast: 2).suffix(1)
            _ = try await client.result("dead_letters.requeue")
            all += try await keys(first, atLeast: 5).suffix(1)

            // Each of two rewinds sends both events again, with new keys.
            for count in [4, 6] {
                _ = try await client.result("dispatcher.rewind", ["id": "b", "to": 1])
                let again = try await keys(second, atLeast: count)
                all += again.suffix(2)
            }

            // Another machine.
            let third = try scene.collector()
            let other = try await scene.daemon(["dispatchers": ["a": third.dispatcher(dispatcher)]])
            try await other.track(1...1)
            all += try await keys(third, atLeast: 1)
            #expect(all.count == 10 && Set(all).count == all.count, "\(all)")
        }
    }
}
