import Testing

/// The limits on the events in one request.
@Suite struct BatchLimitTests {
    @Test("D1: no batch has more events than dispatch_limit")
    func dispatchLimit() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 4])
            try await daemon.pause()
            let ids = try await daemon.track(1...10)
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 10) == ids)
            #expect(collector.requests.map(\.ids.count) == [4, 4, 2])
        }
    }

    @Test("D1: the default dispatch_limit is 25")
    func defaultDispatchLimit() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            try await daemon.track(1...60)
            try await daemon.resume()
            try await collector.acceptedIDs(atLeast: 60)
            #expect(collector.requests.map(\.ids.count) == [25, 25, 10])
        }
    }

    @Test("D1: byte_limit is the exact serialised size: one byte less, and one event fewer fits")
    func byteLimitIsExact() async throws {
        try await withScene { scene in
            let size = try await sizeOfOneEvent(scene)
            let (exact, short) = (try scene.collector(), try scene.collector())
            // Three events, two commas, two brackets.
            let limit = 3 * size + 4
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "exact": exact.dispatcher(["byte_limit": JSON(limit)]),
                    "short": short.dispatcher(["byte_limit": JSON(limit - 1)]),
                ]
            ])
            try await daemon.pause("exact")
            try await daemon.pause("short")
            try await daemon.track(1...6, data: Self.data)
            try await daemon.resume("exact")
            try await daemon.resume("short")
            try await exact.acceptedIDs(atLeast: 6)
            try await short.acceptedIDs(atLeast: 6)
            #expect(exact.requests.map(\.ids.count) == [3, 3])
            #expect(exact.requests.allSatisfy { $0.body.utf8.count == limit })
            #expect(short.requests.map(\.ids.count) == [2, 2, 2])
        }
    }

    @Test("D1: events of many sizes fill each batch as far as possible, and stay in order")
    func byteLimitIsUsed() async throws {
        try await withScene { scene in
            let limit = 2_000
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["byte_limit": JSON(limit)])
            try await daemon.pause()
            let client = try await daemon.connect()
            for number in 1...40 {
                let text = String(repeating: "ä", count: number * 37 % 211)
                _ = try await client.result("track", ["event": "x", "id": "e\(number)", "data": ["t": .string(text)]])
            }
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 40) == (1...40).map { "e\($0)" })
            let requests = collector.requests
            #expect(requests.allSatisfy { $0.body.utf8.count <= limit })
            for (batch, next) in zip(requests, requests.dropFirst()) {
                let one = try #require(next.rawEvents.first)
                #expect(batch.body.utf8.count + 1 + one.utf8.count > limit)
            }
        }
    }

    @Test("D1: one batch at a time by default")
    func oneInFlight() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 2])
            try await daemon.pause()
            try await daemon.track(1...6)
            try await daemon.resume()
            try await collector.requests(atLeast: 1)
            #expect(try await daemon.dispatcher()["in_flight"].int == 2)
            #expect(collector.requests.count == 1)
            collector.release()
            try await collector.acceptedIDs(atLeast: 6)
            #expect(collector.requests.count == 3)
        }
    }

    private static let data: JSON = ["text": "some text that makes it a little longer"]

    /// Returns the size of one event as a new daemon sends it. All events of the test have the same size.
    private func sizeOfOneEvent(_ scene: Scene) async throws -> Int {
        let collector = try scene.collector()
        let daemon = try await scene.daemon(sendingTo: collector)
        try await daemon.track(1...1, data: Self.data)
        try await collector.acceptedIDs(atLeast: 1)
        return try #require(collector.requests.first?.rawEvents.first).utf8.count
    }
}
