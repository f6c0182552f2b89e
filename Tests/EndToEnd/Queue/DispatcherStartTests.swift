import Testing

/// Dispatchers that are added to the settings with a start at an earlier event.
@Suite struct DispatcherStartTests {
    private static let retaining: JSON = ["retain": ["max_bytes": 1_048_576]]

    @Test("R4: a dispatcher that is new in the settings gets the older events that its load rule takes, and no others")
    func oldest() async throws {
        try await withScene { scene in
            let (first, second) = (try scene.collector(), try scene.collector())
            let top: JSON = ["store": DispatcherStartTests.retaining]
            let daemon = try await scene.daemon(sendingTo: first, top: top)
            let ids = try await daemon.track(1...4, data: ["plan": "free"])
            let paid = try await daemon.track(5...6, data: ["plan": "paid"])
            #expect(try await first.acceptedIDs(atLeast: 6) == ids + paid)
            let rule: JSON = ["operator": "equals", "path": "data.plan", "value": "paid"]
            let late = second.dispatcher(["start": "oldest", "load_rule": rule])
            try await daemon.reload([
                "store": DispatcherStartTests.retaining, "dispatchers": ["collect": first.dispatcher(), "late": late],
            ])
            #expect(try await second.acceptedIDs(atLeast: 2) == paid)
            try await daemon.dispatcher("late", until: "all is settled") { $0["pending"] == 0 && $0["in_flight"] == 0 }
            try await daemon.killNow()
            try await daemon.start()
            let more = try await daemon.track(7...7, data: ["plan": "paid"])
            _ = try await eventually("the new event") { second.acceptedIDs.contains(more[0]) ? true : nil }
            #expect(second.requests.first?.body.contains(#""replayed":true"#) == true)
        }
    }

    @Test("R4: the SQLite store refuses a start at an earlier event, at its path")
    func sqlite() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["store": ["kind": "sqlite"]])
            let faults = try await daemon.refusedReload([
                "store": ["kind": "sqlite"], "dispatchers": ["late": collector.dispatcher(["start": "-2h"])],
            ])
            #expect(faults.map(\.["path"]) == ["dispatchers.late.start"])
        }
    }
}
