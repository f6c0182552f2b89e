import Testing

/// Dead letters, and the operators' commands for them.
@Suite struct DeadLetterTests {
    /// Tracks the events `e1`… and has the collector refuse each, so that they are dead-lettered.
    private func makeDeadLetters(_ count: Int, in daemon: Daemon, of collector: Collector) async throws {
        collector.answerAlways(ScriptedAnswer(status: 400, body: "no such field"))
        try await daemon.track(1...count)
        try await daemon.dispatcher(until: "all events are dead-lettered") { $0["dead"].int == count }
        collector.answerAlways(.accepted)
    }

    @Test("D10: dead letters are listed, and requeued once with their ids after the collector is repaired")
    func requeue() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await makeDeadLetters(2, in: daemon, of: collector)
            let page = try await daemon.ask("dead_letters.list")
            let defaults: JSON = [
                "dispatcher": "collect", "reason": "refused_status", "status": 400, "answer": "no such field",
                "attempts": 1,
            ]
            let deadLetters = page["dead_letters"].elements
            #expect(page["next"] == .null && deadLetters.count == 2)
            #expect(
                deadLetters[0].contains(
                    defaults.merging(["letter": 1, "event": ["id": "e1", "seq": 1, "attempt": 1]])))
            #expect(deadLetters[1].contains(defaults.merging(["letter": 2, "event": ["id": "e2", "seq": 2]])))

            #expect(try await daemon.ask("dead_letters.requeue", ["letters": [2]]) == ["count": 1])
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
            #expect(try await daemon.ask("dead_letters.requeue") == ["count": 1])
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e2", "e1"])
            #expect(collector.accepted.flatMap(\.events).map { $0["seq"] } == [3, 4])
            try await daemon.dispatcher(until: "both are delivered") { $0["sent"].int == 2 && $0["pending"] == 0 }
            #expect(try await daemon.ask("dead_letters.list")["dead_letters"] == [])
            #expect(collector.requests.count == 4)
            let counters = try await daemon.ask("status")["counters"]
            #expect(counters.contains(["received": 2, "dead": 2, "requeued": 2, "delivered": 2]))
        }
    }

    @Test("D10: dead letters and requeued events survive SIGKILL, neither lost nor sent twice")
    func killed() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await makeDeadLetters(5, in: daemon, of: collector)
            // The list is read from the store, so the dead letters are written.
            #expect(try await daemon.ask("dead_letters.list")["dead_letters"].elements.count == 5)
            try await daemon.killNow()
            try await daemon.start()
            try await daemon.pause()
            #expect(try await daemon.ask("dead_letters.requeue", ["letters": [1, 3, 5]]) == ["count": 3])
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await daemon.dispatcher()["pending"] == 3)
            let left = try await daemon.ask("dead_letters.list")["dead_letters"].elements
            #expect(left.map { $0["letter"] } == [2, 4])
            try await daemon.resume()
            try await daemon.dispatcher(until: "all are delivered") { $0["sent"].int == 3 && $0["pending"] == 0 }
            #expect(collector.acceptedIDs == ["e1", "e3", "e5"])
        }
    }

    @Test("D10: dead letters purged by dispatcher or number are removed permanently")
    func purge() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await makeDeadLetters(4, in: daemon, of: collector)
            #expect(try await daemon.ask("dead_letters.purge", ["letters": [1, 77]]) == ["count": 1])
            #expect(try await daemon.ask("dead_letters.purge", ["dispatcher": "collect"]) == ["count": 3])
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await daemon.ask("dead_letters.list")["dead_letters"] == [])
            #expect(try await daemon.ask("dead_letters.requeue") == ["count": 0])
        }
    }

    @Test("P4, D10: a requeued event is transformed once, by the present transformations")
    func transformed() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let renaming: JSON = [
                "transformations": [["id": "t", "scopes": ["allDispatchers"], "rename": ["data.a": "data.b"]]]
            ]
            let daemon = try await scene.daemon(sendingTo: collector, top: renaming)
            collector.answerNext(.status(400))
            try await daemon.track(1...1, data: ["a": 1])
            try await daemon.dispatcher(until: "the event is dead-lettered") { $0["dead"].int == 1 }
            let deadLetter = try await daemon.ask("dead_letters.list")["dead_letters"][0]
            #expect(deadLetter["event"]["data"] == ["a": 1])
            #expect(try await daemon.ask("dead_letters.requeue") == ["count": 1])
            try await collector.acceptedIDs(atLeast: 1)
            #expect(collector.requests.flatMap(\.events).map { $0["data"] } == [["b": 1], ["b": 1]])
        }
    }

    @Test("X4: a dead letter has the event and the collector's answer, without secrets")
    func secrets() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            daemon.environment = ["SHOP_TOKEN": "s3cret"]
            try daemon.configure([
                "dispatchers": ["collect": collector.dispatcher(["headers": ["X-Token": ["env": "SHOP_TOKEN"]]])]
            ])
            try await daemon.start()
            collector.answerNext(ScriptedAnswer(status: 403, body: "bad token s3cret"))
            try await daemon.track(1...1)
            try await daemon.dispatcher(until: "the event is dead-lettered") { $0["dead"].int == 1 }
            let page = try await daemon.ask("dead_letters.list")
            #expect(page["dead_letters"][0]["answer"].string?.hasPrefix("bad token") == true)
            #expect(!page.description.contains("s3cret"))
        }
    }

    @Test("Q4: a full store accepts no requeue, and the dead letters stay until there is room")
    func full() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector, ["dispatch_limit": 1], top: ["store": ["max_events": 3]])
            try await makeDeadLetters(3, in: daemon, of: collector)
            try await daemon.pause()
            try await daemon.track(4...5)
            let client = try await daemon.connect()
            let refusal = try await client.refusal("dead_letters.requeue")
            #expect(refusal["data"] == ["reason": "queue_full", "count": 1])
            #expect(try await daemon.ask("dead_letters.list")["dead_letters"].elements.count == 2)
            try await daemon.resume()
            try await collector.acceptedIDs(atLeast: 3)
            try await daemon.dispatcher(until: "there is room") { $0["pending"] == 0 && $0["in_flight"] == 0 }
            #expect(try await daemon.ask("dead_letters.requeue") == ["count": 2])
            #expect(try await collector.acceptedIDs(atLeast: 5) == ["e4", "e5", "e1", "e2", "e3"])
        }
    }

    @Test("headgate dead-letters shows, requeues and purges them")
    func tool() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await makeDeadLetters(3, in: daemon, of: collector)
            let list = try await CommandLineTool.run("dead-letters", on: daemon)
            #expect(list.exitCode == 0, "\(list.errorOutput)")
            #expect(list.output.contains("refused_status") && list.output.contains("no such field"))
            let json = try await CommandLineTool.run("dead-letters", "list", "--limit", "2", "--json", on: daemon).json
            #expect(json["dead_letters"].elements.count == 2 && json["next"] == 2)
            let requeue = try await CommandLineTool.run("dead-letters", "requeue", "2", on: daemon)
            #expect(requeue.output == "1 dead letter is requeued.\n")
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
            let purge = try await CommandLineTool.run("dead-letters", "purge", "--dispatcher", "collect", on: daemon)
            #expect(purge.output == "2 dead letters are deleted.\n")
            let unknown = try await CommandLineTool.run("dead-letters", "purge", "--dispatcher", "x", on: daemon)
            #expect(unknown.exitCode == 1 && unknown.errorOutput.contains("there is no dispatcher x"))
        }
    }

    @Test(
        "D10: at the limit of dead letters the dispatcher is blocked, status and doctor show it, and purging makes room"
    )
    func held() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(.status(401))
            let daemon = try await scene.daemon(
                sendingTo: collector, ["dispatch_limit": 1], top: ["store": ["max_dead_letters": 2]])
            try await daemon.track(1...6)
            try await daemon.dispatcher(until: "it is blocked") { $0["blocked_by"] == ["DeadLettersBarrier:collect"] }
            #expect(try await daemon.dispatcher()["pending"] == 4)
            #expect(try await daemon.counter("dropped_letters") == 0)
            #expect(try await daemon.warnings().contains { $0.contains("near their limit: 2 of 2") })
            let doctor = try await CommandLineTool.run("doctor", on: daemon)
            #expect(doctor.output.contains("headgate dead-letters requeue"), "\(doctor.output)")
            collector.answerAlways(.accepted)
            let purge = try await CommandLineTool.run("dead-letters", "purge", "1", on: daemon)
            #expect(purge.exitCode == 0)
            #expect(try await collector.acceptedIDs(atLeast: 4) == ["e3", "e4", "e5", "e6"])
        }
    }
}
