import HeadgateClient
import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

/// Tests events whose data are values of types that the program defines, over a real socket.
@Suite(.timeLimit(.minutes(5))) struct EncodedEventTests {
    private struct Signup: Encodable {
        var planName: String
        var seats: Int
    }

    /// Data that cannot be encoded if its number is not finite.
    private struct Share: Encodable {
        var share: Double
    }

    /// Data that is not Sendable.
    private final class Counter: Encodable {
        var count = 7
    }

    @Test("An event's data is the value, as the client's coder writes it")
    func track() async throws {
        try await withDaemon { scene in
            let client = try scene.client { $0.coder.keys = .snakeCase }
            let receipt = try await client.track(
                "signup", Signup(planName: "free", seats: 3), id: "a", key: "k", time: Timestamp(milliseconds: 1_500),
                dispatchers: ["collect"], timeToLive: .seconds(3), deadline: .seconds(60))
            #expect(receipt.id == "a")
            try await client.track("count", Counter(), id: "b")
            try await client.track("count", ["oneMore": 1], id: "c")
            let params = await scene.daemon.record.requests.map(\.params)
            #expect(
                params == [
                    [
                        "event": "signup", "id": "a", "data": ["plan_name": "free", "seats": 3], "key": "k",
                        "time": "1970-01-01T00:00:01.500Z", "dispatchers": ["collect"], "ttl_ms": 3_000,
                    ],
                    ["event": "count", "id": "b", "data": ["count": 7]],
                    ["event": "count", "id": "c", "data": ["oneMore": 1]],
                ])
            await client.close()
        }
    }

    @Test("Many values are tracked in their order, each on its own or atomically")
    func many() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let values = (1...3).map { Signup(planName: "free", seats: $0) }
            let results = try await client.trackEach("signup", values)
            #expect(results.compactMap { try? $0.get().sequenceNumber } == [1, 2, 3])
            let receipt = try await client.trackMany("signup", values)
            #expect(receipt.ids.count == 3)
            let requests = await scene.daemon.record.requests
            #expect(requests.map(\.method) == ["track", "track", "track", "track_many"])
            #expect(requests[2].params["data"] == ["planName": "free", "seats": 3])
            let events = requests[3].params.getArray(key: "events", of: DataObject.self)
            #expect(
                events?.map { $0?["data"] } == (1...3).map { ["planName": "free", "seats": .number(DataNumber($0))] })
            await client.close()
        }
    }

    @Test("Data that cannot be encoded is not sent in part")
    func refused() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let shares = [Share(share: 0.5), Share(share: .nan)]
            await #expect(throws: EncodingError.self) { try await client.track("share", shares[1]) }
            await #expect(throws: EncodingError.self) { try await client.track("share", shares) }
            await #expect(throws: EncodingError.self) { try await client.trackEach("share", shares) }
            await #expect(throws: EncodingError.self) { try await client.trackMany("share", shares) }
            await #expect(throws: EncodingError.self) { try await client.activate("share", with: shares[1]) }
            try await client.ping()
            #expect(await scene.daemon.record.requests.map(\.method) == ["ping"])
            await client.close()
        }
    }

    @Test("X2: the daemon's scanner accepts data as deep as the coder allows, in every message")
    func depth() throws {
        let levels = DataCoder.defaultDepth - 1
        let nested = (1..<levels).reduce(DataItem.array([])) { inner, _ in .array([inner]) }
        let event = try OutgoingEvent("deep", ["a": nested])
        #expect(throws: EncodingError.self) { try OutgoingEvent("deep", ["a": [nested]]) }
        let message: DataItem = ["params": ["events": [["data": .object(event.data)]]]]
        #expect(try DataItem(parsing: Array(message.json.utf8)) == message)
    }
}
