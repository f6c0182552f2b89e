import Testing

/// Operations on pending events.
@Suite struct QueueTests {
    @Test("peek lists the next events as stored, without removing them")
    func peek() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            let ids = try await daemon.track(1...12, data: ["n": 1])
            let events = try await daemon.ask("queue.peek", ["dispatcher": "collect"])["events"].elements
            #expect(events.map { $0["id"].string } == ids.prefix(10).map { $0 })
            #expect(events[0].contains(["seq": 1, "event": "e1", "attempt": 1, "data": ["n": 1]]))
            let tool = try await CommandLineTool.run("peek", "collect", "--limit", "2", on: daemon)
            #expect(tool.exitCode == 0 && tool.output.contains("e2") && !tool.output.contains("e3"))
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 12) == ids)
        }
    }

    @Test("P1, F2: a purge drops and counts pending events, ends a flush that waits for them, and survives SIGKILL")
    func purge() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["annotate_queued": false])
            try await daemon.pause()
            try await daemon.track(1...30)
            let client = try await daemon.connect()
            let flush = try await client.request("flush", ["wait": true, "timeout_ms": 0])
            let params: JSON = ["dispatcher": "collect", "before_seq": 11]
            #expect(try await daemon.ask("queue.purge", params) == ["purged": 10])
            #expect(try await daemon.ask("queue.purge", ["dispatcher": "collect"]) == ["purged": 20])
            let end = try await client.answer(to: flush)["result"]
            #expect(
                end.contains(["ended": "settled", "dispatchers": ["collect": ["sent": 0, "failed": 30, "left": 0]]]))
            #expect(
                try await daemon.ask("status").contains([
                    "counters": ["purged": 30, "evicted": 0], "store": ["events": 0],
                ]))
            try await daemon.killNow()
            try await daemon.start()
            try await daemon.resume()
            try await daemon.track(31...31)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e31"])
        }
    }

    @Test("A purge does not drop events in flight")
    func purgeInFlight() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await daemon.track(1...3)
            try await collector.requests(atLeast: 1)
            #expect(try await daemon.ask("queue.purge", ["dispatcher": "collect"]) == ["purged": 2])
            collector.release()
            try await daemon.dispatcher(until: "the rest is delivered") { $0["sent"].int == 1 && $0["in_flight"] == 0 }
            #expect(collector.acceptedIDs == ["e1"])
        }
    }
}
