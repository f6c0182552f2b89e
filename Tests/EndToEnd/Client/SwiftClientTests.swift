import HeadgateClient
import HeadgateData
import Testing

/// The Swift client against a real daemon.
@Suite struct SwiftClientTests {
    @Test("Q7: across SIGKILLs of the daemon the client loses and duplicates no event, and keeps the order")
    func killedWhileTracking() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 10])
            let client = try HeadgateClient(socketPath: daemon.socketPath, name: "shop", version: "2.1")
            let receipts = try await withThrowingTaskGroup(of: [TrackReceipt].self) { group in
                for task in 1...4 {
                    group.addTask { try await client.trackOneByOne(150, as: "task\(task)") }
                }
                for kill in 1...3 {
                    try await collector.acceptedIDs(atLeast: kill * 100)
                    try await daemon.killNow()
                    try await daemon.start()
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(receipts.count == 600)
            try await expectDeliveredOnce(receipts, by: collector)
            for task in 1...4 { try expectOrder(of: "task\(task)", in: collector) }
            await client.close()
        }
    }

    @Test("Q7: across orderly restarts of the daemon the client loses and duplicates no event")
    func stoppedWhileTracking() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let client = try HeadgateClient(socketPath: daemon.socketPath, name: "shop", version: "2.1")
            async let tracked = client.trackOneByOne(400, as: "one")
            for stop in 1...3 {
                try await collector.acceptedIDs(atLeast: stop * 80)
                #expect(try await daemon.stop() == 0)
                try await daemon.start()
            }
            let receipts = try await tracked
            try await expectDeliveredOnce(receipts, by: collector)
            try expectOrder(of: "one", in: collector)
            await client.close()
        }
    }

    @Test("Q7: many concurrent events survive SIGKILL, each stored once and in order")
    func manyInProgress() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let client = try HeadgateClient(socketPath: daemon.socketPath, name: "shop", version: "2.1")
            let events = (0..<5_000).map { OutgoingEvent("bulk", data: ["n": .number(DataNumber($0))]) }
            async let results = client.trackEach(events)
            try await collector.acceptedIDs(atLeast: 1)
            try await daemon.killNow()
            try await daemon.start()
            let receipts = try await results.map { try $0.get() }
            #expect(receipts.count == 5_000)
            let indexes = receipts.compactMap(\.sequenceNumber)
            let isInOrder = zip(indexes, indexes.dropFirst()).allSatisfy(<)
            #expect(isInOrder)
            try await expectDeliveredOnce(receipts, by: collector)
            try expectOrder(of: "bulk", in: collector)
            await client.close()
        }
    }

    @Test("A client that starts before the daemon waits for it")
    func beforeTheDaemon() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            try daemon.configure(["dispatchers": ["collect": collector.dispatcher()]])
            let client = try HeadgateClient(socketPath: daemon.socketPath, name: "shop", version: "2.1")
            async let receipt = client.track("early", id: "e1")
            try await daemon.start()
            #expect(try await receipt.id == "e1")
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(collector.accepted[0].events[0]["context"]["client"] == "shop/2.1")
            await client.close()
        }
    }

    @Test("trackMany, pause, resume, flush, status, barriers and dispatchers do what their methods do")
    func operations() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let client = try HeadgateClient(socketPath: daemon.socketPath, name: "shop", version: "2.1")
            try await client.pause("collect", reason: "audit")
            let many = try await client.trackMany([OutgoingEvent("a", id: "1"), OutgoingEvent("b", id: "2")])
            #expect(many.ids == ["1", "2"])
            let held = try #require(try await client.dispatchers().first)
            #expect(held.id == "collect")
            #expect(held.blockedBy == ["ManualBarrier:collect"])
            let barrier = try await client.barriers().first { $0.id == "ManualBarrier:collect" }
            #expect(barrier?.reason == "audit")

            let blocked = try #require(try await client.flush(wait: true, timeout: .milliseconds(100)))
            #expect(blocked.ended == .timeout)
            #expect(blocked.dispatchers.map(\.left) == [2])
            try await client.resume("collect")
            let flushed = try #require(try await client.flush(wait: true))
            #expect(flushed.ended == .settled)
            #expect(collector.acceptedIDs == ["1", "2"])
            #expect(try await client.status()["ready"] == true)
            await client.close()
        }
    }

    @Test("A refusal reaches the caller with its reason")
    func refusal() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try HeadgateClient(socketPath: daemon.socketPath, name: "shop", version: "2.1")
            await #expect(throws: ClientError.self) { try await client.pause("nowhere") }
            await #expect(throws: ClientError.self) { try await client.track("") }
            #expect(try await client.track("fine").isDuplicate == false)
            await client.close()
        }
    }

    /// Checks that every acknowledged event arrives with its acknowledged sequence number, and that no other event
    /// arrives.
    private func expectDeliveredOnce(_ receipts: [TrackReceipt], by collector: Collector) async throws {
        let expected = Set(receipts.map(\.id))
        #expect(expected.count == receipts.count)
        let events = try await eventually("all \(expected.count) events at the collector") {
            let events = collector.accepted.flatMap(\.events)
            return expected.isSubset(of: events.compactMap { $0["id"].string }) ? events : nil
        }
        let indexes = Dictionary(receipts.map { ($0.id, $0.sequenceNumber.map(Int.init)) }) { $1 }
        for event in events {
            let id = try #require(event["id"].string)
            #expect(indexes[id] == event["seq"].int, "\(id) was stored twice, or under no receipt")
        }
    }

    /// Checks that the first arrivals of the events of one name are in order.
    private func expectOrder(of name: String, in collector: Collector) throws {
        let events = collector.accepted.flatMap(\.events).filter { $0["event"].string == name }
        var seen: Set<String> = []
        let numbers = try events.filter { seen.insert(try #require($0["id"].string)).inserted }.map {
            $0["data"]["n"].int
        }
        #expect(numbers == (0..<numbers.count).map { $0 })
    }
}

extension HeadgateClient {
    /// Tracks events one after the other on the client's own thread. As a task among hundreds of tests, each event
    /// could wait seconds for a thread.
    fileprivate func trackOneByOne(_ count: Int, as name: String) async throws -> [TrackReceipt] {
        var receipts: [TrackReceipt] = []
        for number in 0..<count {
            receipts.append(try await track(name, data: ["n": .number(DataNumber(number))]))
        }
        return receipts
    }
}
