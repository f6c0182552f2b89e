import Foundation
import Testing

/// Settings that change while the service runs.
@Suite struct ReloadTests {
    @Test("S3: repeated changes of settings during tracking lose and duplicate nothing, and keep the order")
    func whileTracking() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            one.answerAlways(ScriptedAnswer(delay: .milliseconds(3)))
            let configuration = { (round: Int) -> JSON in
                let limit: JSON = ["dispatch_limit": JSON(3 + round % 5)]
                return ["dispatchers": ["collect": (round % 2 == 0 ? one : two).dispatcher(limit)]]
            }
            let daemon = try await scene.daemon(configuration(0))
            let (client, controller) = (try await daemon.connect(), try await daemon.connect())
            var ids: [String] = []
            for round in 1...12 {
                try daemon.configure(configuration(round))
                var requests = try await track(20, after: &ids, over: client)
                let reload = try await controller.request("config.reload")
                requests += try await track(20, after: &ids, over: client)
                for request in requests { #expect(try await client.answer(to: request)["result"]["seq"] != .null) }
                #expect(try await controller.answer(to: reload)["result"]["changed"].elements.isEmpty == false)
            }
            try await daemon.dispatcher(until: "everything is settled") { $0["sent"].int == ids.count }
            #expect(Set(one.acceptedIDs + two.acceptedIDs) == Set(ids))
            #expect(one.acceptedIDs.count + two.acceptedIDs.count == ids.count)
            // Both collectors got events, each in order.
            for collector in [one, two] { #expect(isRising(collector.accepted.flatMap(\.events))) }
            #expect(try await daemon.dispatcher().contains(["pending": 0, "in_flight": 0, "dead": 0]))
        }
    }

    @Test("S3: a batch in flight during a change of its dispatcher is settled once")
    func batchInFlight() async throws {
        try await withScene { scene in
            let (old, new) = (try scene.collector(), try scene.collector())
            old.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: old, ["dispatch_limit": 2])
            try await daemon.pause()
            try await daemon.track(1...5)
            try await daemon.resume()
            try await old.requests(atLeast: 1)
            let changed = try await daemon.reload(["dispatchers": ["collect": new.dispatcher(["dispatch_limit": 2])]])
            #expect(changed == ["dispatchers.collect.endpoint"])
            old.release()
            #expect(try await new.acceptedIDs(atLeast: 3) == ["e3", "e4", "e5"])
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 5 }
            #expect(old.requests.map(\.ids) == [["e1", "e2"]])
        }
    }

    @Test("S3: SIGHUP reloads the file; Q3: a new dispatcher begins with the newest event")
    func hangUp() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon(["dispatchers": ["one": one.dispatcher()]])
            try await daemon.pause("one")
            try await daemon.track(1...3)
            try daemon.configure(["dispatchers": ["one": one.dispatcher(), "two": two.dispatcher()]])
            daemon.process?.signal(SIGHUP)
            try await eventually("a second dispatcher") {
                try await daemon.ask("dispatcher.list")["dispatchers"].elements.count == 2
            }
            try await daemon.track(4...5)
            #expect(try await two.acceptedIDs(atLeast: 2) == ["e4", "e5"])
            try await daemon.resume("one")
            #expect(try await one.acceptedIDs(atLeast: 5) == (1...5).map { "e\($0)" })
            #expect(two.acceptedIDs == ["e4", "e5"])
        }
    }

    @Test("Q3: the queue of a removed dispatcher is kept and restored with it")
    func goesAndComesBack() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let both: JSON = ["dispatchers": ["one": one.dispatcher(), "two": two.dispatcher()]]
            let daemon = try await scene.daemon(both)
            try await daemon.pause("one")
            let ids = try await daemon.track(1...4)
            #expect(try await daemon.reload(["dispatchers": ["two": two.dispatcher()]]) == ["dispatchers.one"])
            #expect(try await daemon.ask("dispatcher.list")["dispatchers"].elements.map(\.["id"]) == ["two"])
            try await two.acceptedIDs(atLeast: 4)
            try await daemon.reload(both)
            try await daemon.resume("one")
            #expect(try await one.acceptedIDs(atLeast: 4) == ids)
        }
    }

    @Test("S3: a reload of an unchanged file has no effect")
    func nothingChanged() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: FlushTests.batching)
            try await daemon.track(1...2)
            let before = try await daemon.ask("config.get")
            #expect(try await daemon.ask("config.reload") == ["changed": []])
            #expect(try await daemon.ask("config.get") == before)
            #expect(try await daemon.dispatcher().contains(["state": "blocked", "pending": 2]))
        }
    }

    private func track(_ count: Int, after ids: inout [String], over client: LineClient) async throws -> [Int] {
        var requests: [Int] = []
        for _ in 0..<count {
            ids.append("e\(ids.count)")
            requests.append(try await client.request("track", ["event": "x", "id": .string(ids[ids.count - 1])]))
        }
        return requests
    }

    private func isRising(_ events: [JSON]) -> Bool {
        let sequence = events.compactMap { $0["seq"].int }
        return !sequence.isEmpty && zip(sequence, sequence.dropFirst()).allSatisfy { $0 < $1 }
    }
}
