import Testing

/// Queues of dispatchers that are no longer configured.
@Suite struct OrphanTests {
    @Test(
        "Q3: the queue of a removed dispatcher is listed, and its named successor takes it over once")
    func renamed() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let entry = collector.dispatcher()
            let daemon = try await scene.daemon(["dispatchers": ["old": entry]])
            try await daemon.pause("old")
            try await daemon.track(1...6)
            try await daemon.reload(["dispatchers": ["keep": ["kind": "file", "path": "keep.ndjson"]]])
            for _ in 1...2 {
                let status = try await daemon.ask("status")
                let orphan = try #require(status["orphans"].elements.first)
                #expect(orphan.contains(["id": "old", "events": 6]))
                #expect(orphan["until"].string?.hasSuffix("Z") == true)
                #expect(try await daemon.ask("dispatcher.list")["orphans"].elements.count == 1)
                #expect(
                    status["warnings"].strings.contains {
                        $0.hasPrefix("dispatcher old is no longer configured: its 6 pending events")
                    })
                let _: Int = try await eventually("the oldest event's age is known") {
                    try await daemon.ask("status")["orphans"].elements.first?["oldest_ms"].int
                }
                try await daemon.killNow()
                try await daemon.start()
            }

            let successor = collector.dispatcher(["formerly": "old"])
            let faults = try await daemon.refusedReload([
                "dispatchers": ["keep": ["kind": "file", "path": "keep.ndjson", "formerly": "old"]]
            ])
            #expect(faults.map(\.["message"]).description.contains("has one of its own"))
            #expect(faults.map(\.["path"]) == ["dispatchers.keep.formerly"])
            try await daemon.reload(["dispatchers": ["new": successor]])
            #expect(try await collector.acceptedIDs(atLeast: 6) == (1...6).map { "e\($0)" })
            // Later starts with the same settings have no effect.
            try await daemon.killNow()
            try await daemon.start()
            try await daemon.track(7...7)
            // A kill may make earlier events arrive again.
            _ = try await eventually("e7") { collector.acceptedIDs.contains("e7") ? true : nil }
        }
    }
}
