import Foundation
import Testing

/// Delivered events, byte for byte.
@Suite struct DeliveredEventTests {
    @Test("A delivered event has its members in order, with the full context of its sender")
    func wholeEvent() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let client = try await scene.daemon(sendingTo: collector).connect()
            _ = try await client.result("hello", ["client": ["name": "shop", "version": "2.1"]])
            let tracked = try await client.result(
                "track",
                [
                    "event": "order", "id": "o-1", "key": "customer 5", "time": "2026-01-02T03:04:05.6789+02:00",
                    "data": ["total": 12],
                ])
            try await collector.acceptedIDs(atLeast: 1)
            let seq = try #require(tracked["seq"].int)
            let body = collector.accepted[0].body
            let match = try #require(
                body.wholeMatch(
                    of:
                        /\[\{"id":"o-1","seq":(\d+),"event":"order","time":"([^"]+)","received_at":"([^"]+)","key":"customer 5","attempt":1,"context":(\{[^}]*\}),"data":\{"total":12\}\}\]/
                ), "\(body)")
            #expect(Int(match.1) == seq)
            #expect(match.2 == "2026-01-02T01:04:05.678Z")
            #expect(match.3.wholeMatch(of: timestampPattern) != nil)
            try expectOwnContext(String(match.4))
        }
    }

    @Test("An event without id, key, time and data gets a UUIDv7, the time of receipt and an empty object")
    func bareEvent() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let before = Date.now.addingTimeInterval(-0.001)
            _ = try await scene.daemon(sendingTo: collector).ask("track", ["event": "signup"])
            try await collector.acceptedIDs(atLeast: 1)
            let event = collector.accepted[0].events[0]
            #expect(
                Set(event.members.keys) == ["id", "seq", "event", "time", "received_at", "attempt", "context", "data"])
            #expect(event["id"].string?.wholeMatch(of: uuid7Pattern) != nil)
            #expect(event["time"] == event["received_at"])
            #expect(event["data"] == [:])
            #expect(event["context"]["client"] == .null)
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            let received = try Date(try #require(event["received_at"].string), strategy: style)
            #expect(received >= before && received <= .now)
        }
    }

    @Test("K1: events come as one JSON array in a POST, with content type and length")
    func request() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let settings: JSON = ["headers": ["X-Shop": "berlin 7"]]
            let daemon = try await scene.daemon(sendingTo: collector, settings)
            try await daemon.track(1...1)
            try await collector.acceptedIDs(atLeast: 1)
            let request = collector.accepted[0]
            #expect(request.method == "POST")
            #expect(request.target == "/events")
            #expect(request.headers["content-type"]?.hasPrefix("application/json") == true)
            #expect(request.headers["content-length"] == "\(request.body.utf8.count)")
            #expect(request.headers["x-shop"] == "berlin 7")
            #expect(request.headers["host"] == "127.0.0.1:\(collector.port)")
        }
    }

    @Test("K1: consecutive batches use one connection")
    func connectionIsReused() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await daemon.track(1...10)
            try await collector.acceptedIDs(atLeast: 10)
            #expect(collector.connectionCount == 1)
        }
    }

    @Test("P2: a disabled context collector adds nothing")
    func collectorsOff() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let off: JSON = ["peer": false, "client": false, "host": false, "network": false]
            let client = try await scene.daemon(sendingTo: collector, top: ["collectors": off]).connect()
            _ = try await client.result("hello", ["client": ["name": "shop", "version": "2.1"]])
            _ = try await client.result("track", ["event": "x"])
            try await collector.acceptedIDs(atLeast: 1)
            #expect(collector.accepted[0].events[0]["context"] == [:])
        }
    }

    /// Checks that the context has `pid`, `uid`, `gid`, `client` and `host` in this order, with the test's own values.
    private func expectOwnContext(_ text: String) throws {
        let context = try JSON(parsing: text)
        #expect(context["pid"].int == Int(getpid()))
        #expect(context["uid"].int == Int(getuid()))
        #expect(context["gid"].int == Int(getgid()))
        #expect(context["client"] == "shop/2.1")
        #expect(context["host"].string?.isEmpty == false)
        let positions = ["pid", "uid", "gid", "client", "host"].compactMap { text.range(of: "\"\($0)\":")?.lowerBound }
        #expect(positions.count == 5)
        #expect(positions == positions.sorted())
    }
}
