import Testing

@Suite struct IntervalBarrierTests {
    @Test("B25: the barrier opens periodically, and then all pending events are sent")
    func opens() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["interval_ms": 400, "open_ms": 100])
            for round in 0..<3 {
                try await daemon.barrier("IntervalBarrier", until: "the barrier is closed") {
                    $0["states"]["collect"] == "closed"
                }
                let ids = try await daemon.track(round * 2 + 1...round * 2 + 2)
                #expect(try await collector.acceptedIDs(atLeast: round * 2 + 2).suffix(2) == ids)
            }
            #expect(collector.acceptedIDs == (1...6).map { "e\($0)" })
        }
    }

    @Test("B25: between its openings the barrier blocks, but a flush passes")
    func isFlushable() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["interval_ms": 3_600_000, "open_ms": 50])
            let barrier = try await daemon.barrier("IntervalBarrier", until: "the barrier is closed") {
                $0["states"]["collect"] == "closed"
            }
            #expect(barrier.contains(["word": "interval", "flushable": true]))
            let ids = try await daemon.track(1...2)
            #expect(try await daemon.dispatcher().contains(["pending": 2, "blocked_by": ["IntervalBarrier"]]))
            #expect(try await daemon.ask("flush", ["wait": true])["ended"] == "settled")
            #expect(collector.acceptedIDs == ids)
        }
    }

    private func daemon(_ scene: Scene, _ collector: Collector, _ configuration: JSON) async throws -> Daemon {
        try await scene.daemon(
            sendingTo: collector,
            top: [
                "barriers": ["IntervalBarrier": ["scopes": ["collect"], "configuration": configuration]],
                "flush_on": ["start": false],
            ])
    }
}
