import HeadgateClient
import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

/// Tests the client over a real socket when connections break and the daemon goes away.
@Suite(.timeLimit(.minutes(5))) struct LossTests {
    @Test("Q7: of ten thousand pipelined events over a breaking connection none is lost and none is stored twice")
    func tenThousand() async throws {
        try await withDaemon { request in
            switch request.number % 3_499 {
            case 500: .doAndBreak
            case 1_000: .breakInAnswer
            case 1_500: .breakOff
            default: .answer
            }
        } _: { scene in
            let client = try scene.client()
            let ids = (1...10_000).map { "e\($0)" }
            let results = await client.trackEach(ids.map { OutgoingEvent("x", data: ["n": 1], id: $0) })
            #expect(try results.map { try $0.get().id } == ids)
            let record = await scene.daemon.record
            #expect(record.stored == ids)
            #expect(record.connections > 5)
            #expect(record.duplicates > 0)
        }
    }

    @Test("Q7: ten thousand events of as many tasks, through a kill and a restart of the daemon")
    func tasksThroughARestart() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            async let receipts = withThrowingTaskGroup(of: String.self) { group in
                for number in 1...10_000 {
                    group.addTask { try await client.track("x", id: "e\(number)").id }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            await scene.daemon.wait { $0.stored.count >= 1_000 }
            await scene.daemon.kill()
            try await scene.daemon.start()
            #expect(try await receipts.count == 10_000)
            let stored = await scene.daemon.record.stored
            #expect(stored.count == 10_000)
            #expect(Set(stored).count == 10_000)
        }
    }

    @Test("Q7: the answer of an event that arrived before the connection broke is a success, as a duplicate")
    func duplicateAfterLoss() async throws {
        try await withDaemon {
            $0.number == 1 ? .doAndBreak : .answer
        } _: { scene in
            let client = try scene.client()
            let receipt = try await client.track("x", id: "a")
            #expect(receipt.isDuplicate)
            #expect(receipt.sequenceNumber == 1)
            #expect(await scene.daemon.record.stored == ["a"])
        }
    }

    @Test("Q7: the events of a trackMany that is sent again have the same ids")
    func trackManyAgain() async throws {
        try await withDaemon {
            $0.number == 1 ? .breakInAnswer : .answer
        } _: { scene in
            let client = try scene.client()
            let receipt = try await client.trackMany([OutgoingEvent("x"), OutgoingEvent("y")])
            #expect(receipt.duplicates == 2)
            #expect(await scene.daemon.record.stored == receipt.ids)
        }
    }

    @Test("An event waits for a daemon that is not there yet")
    func waitsForTheDaemon() async throws {
        let scene = try ClientScene()
        let client = try scene.client()
        async let receipt = client.track("x", id: "early")
        await #expect(throws: ClientError.self) { try await client.track("x", deadline: .milliseconds(20)) }
        try await scene.daemon.start()
        #expect(try await receipt.id == "early")
        await scene.daemon.kill()
    }

    @Test("connectTimeout: without a daemon a call fails with the path and the cause")
    func cannotConnect() async throws {
        let scene = try ClientScene()
        let client = try scene.client { $0.connectTimeout = .zero }
        let failure = ClientError.cannotConnect(path: scene.daemon.path, cause: "no such socket")
        await #expect(throws: failure) { try await client.status() }
        try await scene.daemon.start()
        _ = try await client.status()
        await scene.daemon.kill()
    }

    @Test("When the connection breaks, a written flush ends with disconnected, and a read-only call is repeated")
    func notRepeated() async throws {
        try await withDaemon {
            $0.number <= 2 ? .breakOff : .answer
        } _: { scene in
            let client = try scene.client()
            await #expect(throws: ClientError.disconnected) { try await client.flush() }
            _ = try await client.dispatchersOrNone()
            #expect(
                await scene.daemon.record.requests.map(\.method) == ["flush", "dispatcher.list", "dispatcher.list"])
        }
    }

    @Test("Q7: events that a stopping daemon refuses are tracked with the next one, in order")
    func shuttingDown() async throws {
        try await withDaemon {
            (3...5).contains($0.number) ? .refuse(RPCError(.shuttingDown)) : .answer
        } _: { scene in
            let client = try scene.client()
            let ids = (1...5).map { "e\($0)" }
            let results = await client.trackEach(ids.map { OutgoingEvent("x", id: $0) })
            #expect(results.compactMap { try? $0.get().id } == ids)
            let record = await scene.daemon.record
            #expect(record.stored == ids)
            #expect(record.connections == 2)
        }
    }

    @Test("After the daemon closes, the client waits for unanswered calls, and continues with a new connection")
    func closing() async throws {
        try await withDaemon {
            $0.number == 1 ? .hold : .answer
        } _: { scene in
            let client = try scene.client()
            async let first = client.track("x", id: "first")
            await scene.daemon.wait { $0.held == 1 }
            await scene.daemon.sendToAll(#"{"jsonrpc":"2.0","method":"closing","params":{"reason":"shutdown"}}"#)
            await scene.daemon.release()
            #expect(try await first.id == "first")
            try await client.track("x", id: "second")
            let record = await scene.daemon.record
            #expect(record.stored == ["first", "second"])
            #expect(record.connections == 2)
        }
    }

    @Test(
        "The caller of a call with a malformed answer gets an error, and the next call works",
        arguments: ["hello there", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}"])
    func nonsense(line: String) async throws {
        try await withDaemon {
            $0.number == 1 ? .write(line) : .answer
        } _: { scene in
            let client = try scene.client()
            let failure = await #expect(throws: ClientError.self) { try await client.track("x") }
            guard case .badAnswer = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            try await client.track("x")
        }
    }

    @Test("An event that is longer than the daemon's lines is refused without harm to others")
    func tooLong() async throws {
        try await withDaemon { scene in
            await scene.daemon.greet(withLimits: ["max_line_bytes": 500, "max_depth": 6])
            let client = try scene.client()
            let long = OutgoingEvent("x", data: ["text": .string(String(repeating: "a", count: 600))])
            let deep = OutgoingEvent("x", data: ["a": ["b": ["c": ["d": ["e": [:]]]]]])
            let results = await client.trackEach([long, deep, OutgoingEvent("x", id: "fine")])
            let reasons = results.map { result -> ErrorReason? in
                guard case .failure(ClientError.refused(let error)) = result else { return nil }
                return error.reason
            }
            #expect(reasons == [.lineTooLong, .limit, nil])
            #expect(await scene.daemon.record.stored == ["fine"])
        }
    }

    @Test("A client retries after a refusal for lack of room, but not after a refused greeting")
    func greetingRefused() async throws {
        try await withDaemon { scene in
            await scene.daemon.refuseNextGreeting(RPCError(.limit), anonymously: true)
            await scene.daemon.refuseNextGreeting(RPCError(.shuttingDown))
            let client = try scene.client()
            try await client.track("x")
            #expect(await scene.daemon.record.connections == 3)
            let another = try scene.client()
            await scene.daemon.refuseNextGreeting(RPCError(.conflict, "another protocol"))
            await #expect(throws: ClientError.refused(RPCError(.conflict, "another protocol"))) {
                try await another.track("x")
            }
            try await another.track("x")
        }
    }

    @Test("A request of the daemon that the client does not know is answered with an error")
    func unknownRequest() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            try await client.track("x")
            await scene.daemon.sendToAll(#"{"jsonrpc":"2.0","id":"q1","method":"dispatch","params":{}}"#)
            await scene.daemon.wait { !$0.answers.isEmpty }
            #expect(await scene.daemon.record.answers == ["\"q1\": no method dispatch"])
        }
    }
}

extension HeadgateClient {
    fileprivate func dispatchersOrNone() async throws -> DataItem {
        try await call("dispatcher.list")
    }
}
