import HeadgateClient
import HeadgateClientTesting
import HeadgateWire
import Synchronization
import Testing

/// Tests events whose acknowledgement is not awaited, and the end of a client.
@Suite(.timeLimit(.minutes(5))) struct TrackSoonTests {
    @Test("Events that are tracked without waiting are stored in order, and drain waits for them")
    func order() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let ids = (1...2_000).map { "e\($0)" }
            for id in ids { #expect(client.trackSoon("x", id: id)) }
            #expect(await client.drain(within: .seconds(240)) == 0)
            #expect(await scene.daemon.record.stored == ids)
            await client.close()
        }
    }

    @Test("Closing waits for events that were tracked: none is lost", arguments: [true, false])
    func close(soon: Bool) async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            if soon {
                for number in 1...1_000 { client.trackSoon("x", id: "e\(number)") }
                #expect(await client.close(within: .seconds(240)) == 0)
            } else {
                await withThrowingTaskGroup { group in
                    for number in 1...1_000 { group.addTask { try await client.track("x", id: "e\(number)") } }
                    await scene.daemon.wait { !$0.stored.isEmpty }
                    async let left = client.close(within: .seconds(240))
                    // A call after the close fails with `closed`. No accepted event is lost.
                    while let result = await group.nextResult() {
                        if case .failure(let error) = result { #expect(error as? ClientError == .closed) }
                    }
                    #expect(await left == 0)
                }
            }
            if soon { #expect(await scene.daemon.record.stored.count == 1_000) }
            #expect(!client.trackSoon("x"))
        }
    }

    @Test("A close ends at its timeout and reports how many events were not acknowledged")
    func closeInVain() async throws {
        try await withDaemon { _ in
            .ignore
        } _: { scene in
            let client = try scene.client()
            for _ in 1...3 { client.trackSoon("x") }
            #expect(await client.close(within: .milliseconds(20)) == 3)
        }
    }

    @Test("Without a daemon the client keeps as many events as the options allow, and reports the dropped ones")
    func bound() async throws {
        let scene = try ClientScene()
        let dropped = Dropped()
        let client = try scene.client {
            $0.maxUnanswered = 10
            $0.onDropped = { id, error in dropped.add(id, error) }
        }
        let taken = (1...25).map { client.trackSoon("x", id: "e\($0)") }
        #expect(taken == (1...25).map { $0 <= 10 })
        #expect(dropped.all == (11...25).map { "e\($0): the call was not sent in time: too many calls are unanswered" })
        try await scene.daemon.start()
        #expect(await client.drain(within: .seconds(240)) == 0)
        #expect(await scene.daemon.record.stored == (1...10).map { "e\($0)" })
        #expect(client.trackSoon("x"))
        await client.close()
        await scene.daemon.kill()
    }

    @Test("An event that the daemon refuses is reported")
    func refused() async throws {
        try await withDaemon { _ in
            .refuse(RPCError(.queueFull, "full"))
        } _: { scene in
            let dropped = Dropped()
            let client = try scene.client { $0.onDropped = { id, error in dropped.add(id, error) } }
            client.trackSoon("x", id: "a")
            #expect(await client.drain(within: .seconds(240)) == 0)
            #expect(dropped.all == ["a: full"])
            await client.close()
        }
    }

    @Test("Tasks that find no room wait in order before their events are encoded, and all are stored")
    func tasksWait() async throws {
        try await withDaemon { scene in
            let client = try scene.client { $0.maxUnanswered = 4 }
            let ids = (1...500).map { "e\($0)" }
            let results = await client.trackEach(ids.map { OutgoingEvent("x", id: $0) })
            #expect(try results.map { try $0.get().id } == ids)
            #expect(await scene.daemon.record.stored == ids)
            await client.close()
        }
    }

    @Test("A task that waits for room gets an error at its deadline, and a cancelled one ends")
    func noRoom() async throws {
        try await withDaemon { _ in
            .hold
        } _: { scene in
            let client = try scene.client { $0.maxUnanswered = 1 }
            let first = Task { try await client.track("x", id: "first") }
            await scene.daemon.wait { $0.held == 1 }
            await #expect(throws: ClientError.noRoom) { try await client.track("x", deadline: .milliseconds(20)) }
            let waiting = Task { try await client.track("x") }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await scene.daemon.release()
            #expect(try await first.value.id == "first")
            await client.close(within: .zero)
        }
    }

    @Test("A client that is run as a service stays open until its task is cancelled, and drains then")
    func service() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let service = Task { try await client.run() }
            try await client.track("x", id: "a")
            for number in 1...100 { client.trackSoon("x", id: "e\(number)") }
            service.cancel()
            try await service.value
            #expect(await scene.daemon.record.stored.count == 101)
            await #expect(throws: ClientError.closed) { try await client.track("x") }
        }
    }

    @Test("A client that is closed ends its run, also one that begins later", .timeLimit(.minutes(5)))
    func serviceOfAClosedClient() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            try await client.track("x")
            async let service: Void = client.run()
            await client.close()
            try await service
            try await client.run()
        }
    }

    @Test("A path that cannot be a socket's fails at once")
    func permanent() async throws {
        for path in ["/tmp/" + String(repeating: "x", count: 200), "/dev/null/headgate.sock"] {
            let client = try HeadgateClient(socketPath: path, name: "test", version: "1")
            let error = await #expect(throws: ClientError.self) { try await client.track("x") }
            guard case .cannotConnect = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            await client.close()
        }
    }
}

/// The dropped events, which any thread may report.
private final class Dropped: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func add(_ id: String, _ error: any Error) {
        texts.withLock { $0.append("\(id): \(error)") }
    }
}
