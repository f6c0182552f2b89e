import Foundation
import Testing

/// Rewinds of a dispatcher, and the events that the store retains for rewinds.
@Suite struct RewindTests {
    private static let retaining: JSON = ["store": ["retain": ["max_bytes": 1_048_576]]]

    @Test("R2: delivered events are sent again from a position on, under their ids, and marked")
    func rewind() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: RewindTests.retaining)
            let ids = try await daemon.track(1...5)
            #expect(try await collector.acceptedIDs(atLeast: 5) == ids)
            try await daemon.dispatcher(until: "all is settled") { $0["pending"] == 0 && $0["in_flight"] == 0 }
            let answer = try await daemon.ask("dispatcher.rewind", ["id": "collect", "to": 3])
            #expect(answer.contains(["first_seq": 3, "events": 3, "complete": true]))
            #expect(try await collector.acceptedIDs(atLeast: 8) == ids + ids[2...])
            let last = try #require(collector.requests.last)
            #expect(last.body.contains(#""attempt":1,"replayed":true,"#))
            #expect(try await daemon.dispatcher()["rewinds"] == 1)
        }
    }

    @Test("R2: a dry run reports the number of events of a rewind and their times of receipt, and sends nothing")
    func dryRun() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: RewindTests.retaining)
            try await daemon.track(1...3)
            _ = try await collector.acceptedIDs(atLeast: 3)
            try await daemon.dispatcher(until: "all is settled") { $0["pending"] == 0 && $0["in_flight"] == 0 }
            let answer = try await daemon.ask("dispatcher.rewind", ["id": "collect", "to": "-1h", "dry_run": true])
            #expect(answer.contains(["first_seq": 1, "events": 3, "complete": true]))
            let (first, last) = (answer["first_received_at"].string ?? "", answer["last_received_at"].string ?? "")
            #expect(first.hasPrefix("20") && first <= last)
            let tool = try await CommandLineTool.run("rewind", "collect", "--to", "2", "--dry-run", on: daemon)
            #expect(tool.output.hasPrefix("collect would be rewound to 2: 2 events would be pending again. They were"))
            // Times of receipt are computed from the clocks of the moment, which may differ by some milliseconds.
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            let named = try style.parse(String(tool.output.dropLast(2).suffix(last.count)))
            #expect(try tool.exitCode == 0 && abs(named.timeIntervalSince(style.parse(last))) < 1)
            let dispatcher = try await daemon.dispatcher()
            #expect(dispatcher.contains(["pending": 0, "in_flight": 0, "rewinds": 0, "sent": 3]))
        }
    }

    @Test("R1, R3: events beyond the limit are removed, and the refusal of a rewind before the oldest event names it")
    func limits() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector, ["byte_limit": 1_000_000], top: RewindTests.retaining)
            // The events have four times the size that the store retains.
            let data: JSON = ["text": .string(String(repeating: "x", count: 200_000))]
            for number in 1...20 { try await daemon.track(number...number, data: data) }
            _ = try await collector.acceptedIDs(atLeast: 20)
            // The store compares its retained events with the limit only after a number of settled events.
            for number in 21...60 {
                try await daemon.track(number...number)
                _ = try await collector.acceptedIDs(atLeast: number)
            }
            let client = try await daemon.connect()
            let refusal = try await client.refusal("dispatcher.rewind", ["id": "collect", "to": 1])
            let oldest = try #require(refusal["data"]["oldest_seq"].int)
            #expect(refusal["data"]["reason"] == "not_found" && oldest > 1 && oldest <= 20)
            let answer = try await daemon.ask("dispatcher.rewind", ["id": "collect", "to": .number(Double(oldest))])
            #expect(
                answer.contains([
                    "first_seq": .number(Double(oldest)), "events": .number(Double(61 - oldest)), "complete": true,
                ]))
        }
    }

    @Test("R1: an idle daemon reports the number of its retained events")
    func reported() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: RewindTests.retaining)
            try await daemon.track(1...3)
            _ = try await collector.acceptedIDs(atLeast: 3)
            try await eventually("the events are retained") {
                try await daemon.ask("status")["store"]["retained"]["events"] == 3
            }
        }
    }

    @Test("R3: a rewind into the future, to an invalid start or of an unknown dispatcher is refused")
    func refusals() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: RewindTests.retaining)
            try await daemon.track(1...1)
            _ = try await collector.acceptedIDs(atLeast: 1)
            let client = try await daemon.connect()
            for to in [2, "2999-01-01T00:00:00Z"] as [JSON] {
                let refusal = try await client.refusal("dispatcher.rewind", ["id": "collect", "to": to])
                #expect(refusal["data"]["reason"] == "not_found")
            }
            for to in [0, -1, "yesterday", "2h", "-2", true] as [JSON] {
                let refusal = try await client.refusal("dispatcher.rewind", ["id": "collect", "to": to])
                #expect(refusal.contains(["code": -32602, "data": ["path": "to"]]), "\(to)")
            }
            let unknown = try await client.refusal("dispatcher.rewind", ["id": "nobody", "to": 1])
            #expect(unknown["data"]["reason"] == "not_found")
        }
    }

    @Test("R3: a rewind survives SIGKILL from the moment of its answer")
    func kill() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: RewindTests.retaining)
            let ids = try await daemon.track(1...4)
            _ = try await collector.acceptedIDs(atLeast: 4)
            try await daemon.pause()
            try await daemon.dispatcher(until: "all is settled") { $0["in_flight"] == 0 }
            #expect(try await daemon.ask("dispatcher.rewind", ["id": "collect", "to": "-1h"])["events"] == 4)
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await daemon.dispatcher()["pending"] == 4)
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 8) == ids + ids)
        }
    }

    @Test("R5: without retained events a rewind sends only those that are unsettled elsewhere, and warns of gaps")
    func nothingRetained() async throws {
        try await withScene { scene in
            let (collector, archive) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon([
                "dispatchers": ["collect": collector.dispatcher(), "archive": archive.dispatcher()]
            ])
            try await daemon.pause("archive")
            let ids = try await daemon.track(1...3)
            _ = try await collector.acceptedIDs(atLeast: 3)
            let tool = try await CommandLineTool.run("rewind", "collect", "--to", "2", on: daemon)
            #expect(tool.exitCode == 0 && tool.output.contains("2 events pending again"))
            #expect(tool.output.contains("some events may be missing"))
            #expect(try await collector.acceptedIDs(atLeast: 5) == ids + ids[1...])
        }
    }

    @Test("R1: a store that deletes settled events refuses to retain them, at the setting's path")
    func otherStore() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let collector = try scene.collector()
            try daemon.configure([
                "store": ["kind": "sqlite", "retain": ["max_age_s": 60]],
                "dispatchers": ["collect": collector.dispatcher()],
            ])
            #expect(try await daemon.run() == 1)
            try await daemon.logs("store.retain")
        }
    }
}
