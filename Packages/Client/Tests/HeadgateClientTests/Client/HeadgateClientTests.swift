import HeadgateClient
import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

/// Tests the client over a real socket, without failures.
@Suite(.timeLimit(.minutes(5))) struct HeadgateClientTests {
    @Test("The client identifies itself, and tracks an event with all its members")
    func track() async throws {
        try await withDaemon { scene in
            let client = try HeadgateClient(
                socketPath: scene.daemon.path, name: "shop", version: "2.1", namespace: "orders")
            let receipt = try await client.track(
                "signup", data: ["plan": "pro"], id: "own", key: "k", time: Timestamp(milliseconds: 1_500),
                dispatchers: ["collect"], timeToLive: .seconds(3))
            #expect(receipt == (try TrackReceipt(id: "own", sequenceNumber: 1)))
            let record = await scene.daemon.record
            #expect(
                record.greetings == [
                    ["client": ["name": "shop", "version": "2.1"], "protocol": 1, "namespace": "orders"]
                ])
            #expect(
                record.requests.map(\.params) == [
                    [
                        "event": "signup", "id": "own", "data": ["plan": "pro"], "key": "k",
                        "time": "1970-01-01T00:00:01.500Z", "dispatchers": ["collect"], "ttl_ms": 3_000,
                    ]
                ])
            await client.close()
        }
    }

    @Test("Every event without an id gets one, which sorts by time")
    func ids() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            var ids: [String] = []
            for _ in 1...50 { ids.append(try await client.track("x").id) }
            #expect(ids == ids.sorted())
            #expect(Set(ids).count == 50)
            #expect(await scene.daemon.record.stored == ids)
        }
    }

    @Test("Q7: an event that the daemon has stored before is a success, and is marked as a duplicate")
    func duplicate() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            #expect(try await client.track("x", id: "a") == (try TrackReceipt(id: "a", sequenceNumber: 1)))
            #expect(
                try await client.track("x", id: "a")
                    == (try TrackReceipt(id: "a", sequenceNumber: 1, isDuplicate: true)))
        }
    }

    @Test("trackEach keeps the order without waiting in between; a refused one does not hinder the others")
    func trackEach() async throws {
        let refusal = RPCError.invalidParams(path: "event", "must not be empty")
        try await withDaemon { request in
            request.params["event"] == "" ? .refuse(refusal) : .answer
        } _: { scene in
            let client = try scene.client()
            let events = ["a", "b", "", "c"].map { OutgoingEvent($0, id: "id-\($0)") }
            let results = await client.trackEach(events)
            #expect(await scene.daemon.record.stored == ["id-a", "id-b", "id-c"])
            #expect(results.map { (try? $0.get())?.sequenceNumber } == [1, 2, nil, 3])
            #expect(throws: ClientError.refused(refusal)) { try results[2].get() }
            #expect(await client.trackEach([]).isEmpty)
        }
    }

    @Test("trackMany sends all in one request, each with an id")
    func trackMany() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let receipt = try await client.trackMany([OutgoingEvent("a", id: "one"), OutgoingEvent("b")])
            #expect(receipt.ids.count == 2 && receipt.ids[0] == "one" && receipt.ids[1].count == 36)
            #expect((receipt.firstSequenceNumber, receipt.lastSequenceNumber) == (1, 2))
            #expect(receipt.duplicates == 0 && receipt.unrouted == 0)
            #expect(await scene.daemon.record.requests.map(\.method) == ["track_many"])
        }
    }

    @Test("Operations send the protocol's methods and params, and return typed values")
    func operations() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("flush", with: ["flush": "f", "ended": "settled", "dispatchers": [:]])
            await scene.daemon.answer("barrier.list", with: ["barriers": [["id": "b"]]])
            await scene.daemon.answer("dispatcher.list", with: ["dispatchers": [["id": "d"]]])
            await scene.daemon.answer("status", with: ["version": "9"])
            let client = try scene.client()
            let waited = try await client.flush(dispatchers: ["a"], wait: true, timeout: .milliseconds(1_500))
            #expect(waited?.ended == .settled)
            #expect(try await client.flush() == nil)
            try await client.pause("collect", reason: "why not", flushable: true)
            try await client.resume("collect")
            #expect(try await client.barriers().map(\.id) == ["b"])
            #expect(try await client.dispatchers().map(\.id) == ["d"])
            #expect(try await client.status()["version"] == "9")
            let requests = await scene.daemon.record.requests
            #expect(
                requests.map(\.method) == [
                    "flush", "flush", "dispatcher.pause", "dispatcher.resume", "barrier.list", "dispatcher.list",
                    "status",
                ])
            #expect(requests[0].params == ["dispatchers": ["a"], "wait": true, "timeout_ms": 1_500])
            #expect(requests[1].params == [:])
            #expect(requests[2].params == ["id": "collect", "reason": "why not", "flushable": true])
        }
    }

    @Test("An answer in a shape that the protocol does not have is a bad answer")
    func badShape() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            await scene.daemon.answer("barrier.list", with: ["dispatchers": []])
            await #expect(throws: ClientError.badAnswer("the result of barrier.list has no barriers")) {
                try await client.barriers()
            }
        }
    }

    @Test("Calls of many tasks share one connection, and answers may come in any order")
    func outOfOrder() async throws {
        try await withDaemon { _ in
            .hold
        } _: { scene in
            let client = try scene.client()
            async let receipts = client.trackEach((1...20).map { OutgoingEvent("x", id: "\($0)") })
            await scene.daemon.wait { $0.held == 20 }
            await scene.daemon.release(reversed: true)
            #expect(await receipts.compactMap { try? $0.get().id } == (1...20).map { "\($0)" })
            #expect(await scene.daemon.record.connections == 1)
        }
    }

    @Test("A cancelled task stops waiting; the next call is not disturbed")
    func cancellation() async throws {
        try await withDaemon {
            $0.number == 1 ? .hold : .answer
        } _: { scene in
            let client = try scene.client()
            let waiting = Task { try await client.track("x", id: "slow") }
            await scene.daemon.wait { $0.held == 1 }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await scene.daemon.release()
            #expect(try await client.track("x", id: "next").id == "next")
            #expect(await scene.daemon.record.stored == ["slow", "next"])
        }
    }

    @Test("A call that is cancelled before it begins ends with the cancellation")
    func cancelledBefore() async throws {
        try await withDaemon { _ in
            .ignore
        } _: { scene in
            let client = try scene.client()
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await client.track("x")
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("A deadline ends the wait for an answer")
    func deadline() async throws {
        try await withDaemon { request in
            request.params["event"] == "late" ? .ignore : .answer
        } _: { scene in
            let client = try scene.client()
            await #expect(throws: ClientError.timedOut) {
                try await client.track("late", deadline: .milliseconds(30))
            }
            try await client.track("x")
        }
    }

    @Test("Closing ends calls in progress and later ones")
    func close() async throws {
        try await withDaemon { _ in
            .hold
        } _: { scene in
            let client = try scene.client()
            let waiting = Task { try await client.track("x") }
            await scene.daemon.wait { $0.held == 1 }
            await client.close()
            await #expect(throws: ClientError.closed) { try await waiting.value }
            await #expect(throws: ClientError.closed) { try await client.track("x") }
            await client.close()
        }
    }

    @Test("A client without references closes its connection, and an unused client has no connection")
    func released() async throws {
        try await withDaemon { scene in
            _ = try scene.client()
            var client: HeadgateClient? = try scene.client()
            try await client?.track("x")
            client = nil
            await scene.daemon.wait { $0.departures == 1 }
            #expect(await scene.daemon.record.connections == 1)
        }
    }
}

extension TrackReceipt {
    /// Creates the receipt from a daemon's answer.
    fileprivate init(id: String, sequenceNumber: Int, isDuplicate: Bool = false) throws {
        let end = isDuplicate ? #","duplicate":true}"# : "}"
        let scanner = JSONScanner()
        self = try Array((#"{"id":"\#(id)","seq":\#(sequenceNumber)"# + end).utf8).withUnsafeBytes {
            try TrackReceipt(try scanner.scan($0))
        }
    }
}
