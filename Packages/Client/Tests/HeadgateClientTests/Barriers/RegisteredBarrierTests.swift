import HeadgateClientTesting
import HeadgateData
import HeadgateTransport
import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests the barriers that a client registers, over a real socket (Behaviour B29).
@Suite(.timeLimit(.minutes(5))) struct RegisteredBarrierTests {
    private func requests(_ scene: ClientScene) async -> [String] {
        await scene.daemon.record.requests.map { "\($0.connection) \($0.method) \(DataItem.object($0.params).json)" }
    }

    /// Restarts the daemon, and returns the client's requests on the new connection, without the final ping.
    private func afterRestart(_ scene: ClientScene, _ client: HeadgateClient) async throws -> [String] {
        await scene.daemon.kill()
        try await scene.daemon.start()
        try await client.ping()
        let connection = await scene.daemon.record.connections
        let all = await requests(scene)
        #expect(all.last == "\(connection) ping {}")
        return all.dropLast().filter { $0.hasPrefix("\(connection) ") }
    }

    @Test("B29: a barrier is registered, set and removed as the caller requested")
    func asRequested() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let barrier = try await client.barrier(
                "consent", .closed, scopes: ["collect"], flushable: false, onDisconnect: .keep)
            try await barrier.set(.open, for: "collect", reason: "given")
            try await barrier.setFlushable(true)
            try await barrier.unregister()
            try await client.unregisterBarrier("other", force: true)
            #expect(
                await requests(scene) == [
                    #"1 barrier.register {"id":"consent","state":"closed","scopes":["collect"],"flushable":false,"#
                        + #""on_disconnect":"keep"}"#,
                    #"1 barrier.set {"id":"consent","state":"open","dispatcher":"collect","reason":"given"}"#,
                    #"1 barrier.set {"id":"consent","flushable":true}"#, #"1 barrier.unregister {"id":"consent"}"#,
                    #"1 barrier.unregister {"id":"other","force":true}"#,
                ])
            await client.close()
        }
    }

    @Test(
        "B29: after a restart a barrier is registered with its last state, and the rest follows at once"
    )
    func restart() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let barrier = try await client.barrier("consent", .open)
            try await barrier.set(.closed, reason: "withdrawn")
            try await barrier.set(.open, for: "archive")
            #expect(
                try await afterRestart(scene, client) == [
                    #"2 barrier.register {"id":"consent","state":"closed"}"#,
                    #"2 barrier.set {"id":"consent","reason":"withdrawn"}"#,
                    #"2 barrier.set {"id":"consent","state":"open","dispatcher":"archive"}"#,
                ])
            await client.close()
        }
    }

    @Test("B29: a change that breaks with its connection is kept, and comes through on the next")
    func brokenChange() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let barrier = try await client.barrier("consent", .open)
            await scene.daemon.follow { $0.connection == 1 ? .breakOff : .answer }
            try await barrier.set(.closed)
            #expect(
                await requests(scene).suffix(2) == [
                    #"2 barrier.set {"id":"consent","state":"closed"}"#,
                    #"2 barrier.set {"id":"consent","state":"closed"}"#,
                ])
            #expect(await requests(scene).suffix(3).first == #"2 barrier.register {"id":"consent","state":"open"}"#)
            #expect(
                try await afterRestart(scene, client) == [#"3 barrier.register {"id":"consent","state":"closed"}"#])
            await client.close()
        }
    }

    @Test(
        "B29: the next connection repeats neither a change that the daemon refused nor a refused registration"
    )
    func refused() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let barrier = try await client.barrier("consent", .closed)
            let refusal = RPCError(.limit, "the reason is too long")
            await scene.daemon.follow { _ in .refuse(refusal) }
            await #expect(throws: ClientError.refused(refusal)) { try await barrier.set(.open, reason: "a long one") }
            await #expect(throws: ClientError.refused(refusal)) { _ = try await client.barrier("consent", .open) }
            await scene.daemon.follow { _ in .answer }
            #expect(
                try await afterRestart(scene, client) == [#"2 barrier.register {"id":"consent","state":"closed"}"#])
            await client.close()
        }
    }

    @Test("B29: a registration that its caller cancelled is undone: the barrier has no owner, or the former one")
    func reconnectFailed() async throws {
        try await withDaemon { _ in
            .ignore
        } _: { scene in
            let client = try scene.client()
            let first = Task { _ = try await client.barrier("door", .closed) }
            await scene.daemon.wait { $0.requests.count == 1 }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            await scene.daemon.follow { _ in .answer }
            _ = try await client.barrier("door", .open)
            await scene.daemon.follow { $0.params["state"] == "closed" ? .ignore : .answer }
            let second = Task { _ = try await client.barrier("door", .closed) }
            await scene.daemon.wait { $0.requests.count == 4 }
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            try await client.ping()
            let (open, closed) = (#"{"id":"door","state":"open"}"#, #"{"id":"door","state":"closed"}"#)
            #expect(
                await requests(scene) == [
                    "1 barrier.register \(closed)", #"1 barrier.unregister {"id":"door"}"#,
                    "1 barrier.register \(open)",
                    "1 barrier.register \(closed)", "1 barrier.register \(open)", "1 ping {}",
                ])
            #expect(try await afterRestart(scene, client) == ["2 barrier.register \(open)"])
            await client.close()
        }
    }

    @Test("B29: a barrier that outlives its connection is removed if its caller cancelled before the answer")
    func staysRemoved() async throws {
        try await withDaemon { _ in
            .ignore
        } _: { scene in
            let client = try scene.client()
            let registering = Task { _ = try await client.barrier("door", .closed, onDisconnect: .keep) }
            await scene.daemon.wait { $0.requests.count == 1 }
            registering.cancel()
            await #expect(throws: CancellationError.self) { try await registering.value }
            await scene.daemon.follow { _ in .answer }
            #expect(
                try await afterRestart(scene, client) == [
                    #"2 barrier.register {"id":"door","state":"open","scopes":[]}"#,
                    #"2 barrier.unregister {"id":"door"}"#,
                ])
            await client.close()
        }
    }

    @Test(
        "B29: an id of another owner is refused, a repeated registration replaces, and a removed barrier stays removed"
    )
    func owners() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let conflict = RPCError(.conflict, "barrier door belongs to till")
            await scene.daemon.follow { _ in .refuse(conflict) }
            await #expect(throws: ClientError.refused(conflict)) { _ = try await client.barrier("door", .open) }
            await scene.daemon.follow { _ in .answer }
            _ = try await client.barrier("door", .open)
            let barrier = try await client.barrier("door", .closed)
            _ = try await client.barrier("gate", .open)
            try await barrier.unregister()
            #expect(try await afterRestart(scene, client) == [#"2 barrier.register {"id":"gate","state":"open"}"#])
            await client.close()
        }
    }

    @Test("B29: of several registrations of an id the last counts")
    func registeredAgain() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            _ = try await client.barrier("door", .open, scopes: ["collect"])
            let barrier = try await client.barrier("door", .closed)
            for connection in 2...3 {
                #expect(
                    try await afterRestart(scene, client) == [
                        #"\#(connection) barrier.register {"id":"door","state":"closed"}"#
                    ])
            }
            // From now on, a change applies to the last registration.
            try await barrier.set(.open)
            #expect(try await afterRestart(scene, client) == [#"4 barrier.register {"id":"door","state":"open"}"#])
            await client.close()
        }
    }

    @Test("B29: the daemon itself removes a barrier that ends with its connection, but not one that outlives it")
    func awayWithoutDaemon() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let passing = try await client.barrier("passing", .open)
            let lasting = try await client.barrier("lasting", .open, onDisconnect: .close)
            await scene.daemon.kill()
            // The client may not have noticed the lost connection yet.
            let noticed = Task { try await lasting.unregister() }
            while await client.isConnected { await Task.yield() }
            try await passing.unregister()
            try await scene.daemon.start()
            try await noticed.value
            #expect(
                await requests(scene).suffix(2) == [
                    #"2 barrier.register {"id":"lasting","state":"open","scopes":[]}"#,
                    #"2 barrier.unregister {"id":"lasting"}"#,
                ])
            await client.close()
        }
    }

    @Test("B29: a barrier that outlives its connection is removed on the next one, even if no caller waits any longer")
    func awayBehindDeadline() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let late = try await client.barrier("late", .closed, onDisconnect: .keep)
            let dropped = try await client.barrier("dropped", .closed, onDisconnect: .keep)
            let again = try await client.barrier("again", .closed, onDisconnect: .keep)
            await scene.daemon.kill()
            while await client.isConnected { await Task.yield() }
            for barrier in [late, again] {
                await #expect(throws: ClientError.timedOut) { try await barrier.unregister(deadline: .milliseconds(1)) }
            }
            let dropping = Task { try await dropped.unregister() }
            while await client.endingCount < 3 { await Task.yield() }
            dropping.cancel()
            await #expect(throws: CancellationError.self) { try await dropping.value }
            let registering = Task { try await client.barrier("again", .open) }
            while await client.barrierCount == 0 { await Task.yield() }
            try await scene.daemon.start()
            _ = try await registering.value
            #expect(await client.endingCount == 0)
            #expect(
                try await afterRestart(scene, client) == [#"3 barrier.register {"id":"again","state":"open"}"#])
            #expect(
                await requests(scene).dropFirst(3).dropLast(2) == [
                    #"2 barrier.register {"id":"late","state":"open","scopes":[]}"#,
                    #"2 barrier.unregister {"id":"late"}"#,
                    #"2 barrier.register {"id":"dropped","state":"open","scopes":[]}"#,
                    #"2 barrier.unregister {"id":"dropped"}"#, #"2 barrier.register {"id":"again","state":"open"}"#,
                ])
            await client.close()
        }
    }

    @Test("B29: a barrier that outlives its connection is removed also by a caller that cancelled earlier and retries")
    func awayAfterGivingUp() async throws {
        try await withDaemon { scene in
            let client = try scene.client { $0.reconnectTimeout = .milliseconds(50) }
            let barrier = try await client.barrier("late", .closed, onDisconnect: .keep)
            await scene.daemon.follow { _ in .ignore }
            let vain = Task { try await barrier.unregister() }
            while await client.endingCount == 0 { await Task.yield() }
            await scene.daemon.kill()
            await #expect(throws: ClientError.self) { try await vain.value }
            await scene.daemon.follow { _ in .answer }
            try await scene.daemon.start()
            try await barrier.unregister()
            #expect(
                await requests(scene).suffix(2) == [
                    #"2 barrier.register {"id":"late","state":"open","scopes":[]}"#,
                    #"2 barrier.unregister {"id":"late"}"#,
                ])
            await client.close()
        }
    }

    @Test("B29: a barrier that outlives its connection is removed even if the connection breaks during the removal")
    func awayWhileItBreaks() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let barrier = try await client.barrier("late", .closed, onDisconnect: .keep)
            let refusals = Guarded(2)
            await scene.daemon.follow { request in
                if request.connection == 1 { return .breakOff }
                guard request.method == "barrier.register" else { return .answer }
                let left = refusals.withLock { left in
                    defer { left -= 1 }
                    return left
                }
                return left > 0 ? .refuse(RPCError(.conflict)) : .answer
            }
            try await barrier.unregister()
            let registration = #"2 barrier.register {"id":"late","state":"open","scopes":[]}"#
            let end = #"2 barrier.unregister {"id":"late"}"#
            #expect(
                await requests(scene).dropFirst(2)
                    == [registration, end, registration, end, registration, end])
            await client.close()
        }
    }

    @Test("A registration ends with its deadline, with its task, and with the client")
    func ends() async throws {
        let scene = try ClientScene()
        let client = try scene.client()
        await #expect(throws: ClientError.self) { _ = try await client.barrier("a", .open, deadline: .milliseconds(1)) }
        let task = Task { _ = try await client.barrier("b", .open) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let last = Task { _ = try await client.barrier("c", .open) }
        while await client.barrierCount == 0 { await Task.yield() }
        await client.close()
        await #expect(throws: ClientError.closed) { try await last.value }
    }
}

extension HeadgateClient {
    fileprivate var isConnected: Bool { connection.isConnected }
    fileprivate var barrierCount: Int { connection.barriers.count }
    fileprivate var endingCount: Int { connection.barrierEndings.count }
}
