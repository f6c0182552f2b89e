import Testing

/// The requests `track` and `track_many`.
@Suite struct TrackTests {
    @Test("track answers with the id and the sequence number")
    func answers() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try await daemon.connect()
            let own = try await client.result("track", ["event": "signup", "id": "mine"])
            #expect(own["id"] == "mine")
            #expect(Set(own.members.keys) == ["id", "seq"])
            let made = try await client.result("track", ["event": "signup"])
            #expect(made["id"].string?.wholeMatch(of: uuid7Pattern) != nil)
            #expect(try #require(made["seq"].int) > #require(own["seq"].int))
        }
    }

    @Test("Acknowledgements of one connection come in the order of its requests")
    func acknowledgementsInOrder() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try await daemon.connect()
            let lines = (1...3_000).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"track","params":{"event":"x"}}"# }
            try await client.send(lines.joined(separator: "\n"))
            var last = 0
            for number in 1...3_000 {
                let answer = try await client.message()
                #expect(answer["id"].int == number)
                let seq = try #require(answer["result"]["seq"].int)
                #expect(seq > last)
                last = seq
            }
        }
    }

    @Test("Acknowledgements of one connection come in order, including batches and track_many")
    func acknowledgementsOfBatchesInOrder() async throws {
        try await withScene { scene in
            let client = try await scene.daemon(sendingTo: scene.collector()).connect()
            let track = { #"{"jsonrpc":"2.0","id":\#($0),"method":"track","params":{"event":"x"}}"# } as (Int) -> String
            let many = #"{"jsonrpc":"2.0","id":6,"method":"track_many","params":{"events":[{"event":"x"}]}}"#
            let ping = #"{"jsonrpc":"2.0","id":4,"method":"ping"}"#
            let round = [track(1), "[\(track(2))]", track(3), "[\(ping),\(track(5))]", many, track(7), track(8)]
            try await client.send(repeatElement(round, count: 20).joined().joined(separator: "\n"))
            for _ in 1...20 {
                var order: [[Int?]] = []
                for _ in round {
                    let answer = try await client.message()
                    order.append(answer.elements.isEmpty ? [answer["id"].int] : answer.elements.map { $0["id"].int })
                }
                #expect(order == [[1], [2], [3], [4, 5], [6], [7], [8]])
            }
        }
    }

    @Test(
        "An invalid member of track is refused with its path",
        arguments: [
            (#"{}"#, "event"), (#"{"event":""}"#, "event"), (#"{"event":7}"#, "event"), (#"{"event":null}"#, "event"),
            (#"{"event":"x","data":[]}"#, "data"), (#"{"event":"x","data":"d"}"#, "data"),
            (#"{"event":"x","id":5}"#, "id"), (#"{"event":"x","key":5}"#, "key"),
            (#"{"event":"x","time":"yesterday"}"#, "time"), (#"{"event":"x","time":12}"#, "time"),
            (#"{"event":"x","ttl_ms":"5"}"#, "ttl_ms"), (#"{"event":"x","ttl_ms":-1}"#, "ttl_ms"),
            (#"{"event":"x","dispatchers":"collect"}"#, "dispatchers"),
            (#"{"event":"x","dispatchers":["collect","nowhere"]}"#, "dispatchers[1]"),
            (#"{"event":"x","dispatchers":[1]}"#, "dispatchers[0]"),
        ])
    func wrongMember(params: String, path: String) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let error = try await daemon.connect().refusal("track", JSON(parsing: params))
            #expect(error["code"] == -32602)
            #expect(error["data"]["path"].string == path)
            #expect(error["message"].string?.isEmpty == false)
            #expect(try await daemon.ask("status")["counters"]["received"] == 0)
        }
    }

    @Test("Unknown members of params are ignored")
    func unknownMembers() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            _ = try await daemon.ask("track", ["event": "x", "id": "1", "colour": "red", "data": ["kept": true]])
            try await collector.acceptedIDs(atLeast: 1)
            let event = collector.accepted[0].events[0]
            #expect(event["data"] == ["kept": true])
            #expect(event["colour"] == .null)
        }
    }

    @Test("track_many answers with ids and the range of sequence numbers")
    func many() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let before = try #require(try await daemon.ask("track", ["event": "x", "id": "0"])["seq"].int)
            let events: JSON = [["event": "a", "id": "1"], ["event": "b", "id": "2"], ["event": "c", "id": "3"]]
            let answer = try await daemon.ask("track_many", ["events": events])
            #expect(answer.contains(["ids": ["1", "2", "3"], "duplicates": 0, "unrouted": 0]))
            let first = try #require(answer["first_seq"].int)
            #expect(first > before)
            #expect(answer["last_seq"].int == first + 2)
            #expect(try await collector.acceptedIDs(atLeast: 4) == ["0", "1", "2", "3"])
        }
    }

    @Test("track_many is all or none: one invalid event is reported with its path, and nothing is stored")
    func allOrNone() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try await daemon.connect()
            let events: JSON = [["event": "a", "id": "1"], ["data": [:]], ["event": "c", "id": "3"]]
            let error = try await client.refusal("track_many", ["events": events])
            #expect(error["code"] == -32602)
            #expect(error["data"]["path"] == "events[1].event")
            #expect(try await client.result("status")["store"]["events"] == 0)
            // The ids of the refused request are not used up.
            #expect(try await client.result("track", ["event": "a", "id": "1"])["duplicate"] == .null)
        }
    }

    @Test("track_many without a list of events is refused", arguments: [#"{}"#, #"{"events":{}}"#, #"{"events":[1]}"#])
    func noList(params: String) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let error = try await daemon.connect().refusal("track_many", JSON(parsing: params))
            #expect(error["code"] == -32602)
            #expect(error["data"]["path"].string?.hasPrefix("events") == true)
        }
    }
}
