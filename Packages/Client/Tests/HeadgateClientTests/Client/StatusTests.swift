import HeadgateClient
import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

/// Tests the announced status of an application, and the daemon's greeting.
@Suite(.timeLimit(.minutes(5))) struct StatusTests {
    @Test("B26: after a restart only the last status is announced again")
    func again() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            try await client.announce(.foreground)
            try await client.announce(.background)
            await scene.daemon.kill()
            try await scene.daemon.start()
            try await client.ping()
            let words = await scene.daemon.record.requests.map { $0.params.get(key: "status", as: String.self) }
            #expect(words == ["foreground", "background", "background", nil])
            await client.close()
        }
    }

    @Test("B26: the status exiting is announced once")
    func exiting() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            try await client.announce(.exiting)
            await scene.daemon.kill()
            try await scene.daemon.start()
            try await client.ping()
            #expect(await scene.daemon.record.requests.map(\.method) == ["application.status", "ping"])
            await client.close()
        }
    }

    @Test("The greeting names the daemon and its limits")
    func greeting() async throws {
        try await withDaemon { scene in
            await scene.daemon.greet(withLimits: ["max_line_bytes": 4096])
            let client = try scene.client()
            let greeting = try await client.greeting()
            #expect(greeting.protocolVersion == 1)
            #expect(greeting.limits == ["max_line_bytes": 4096])
            let whole = DaemonGreeting([
                "server": ["name": "headgate", "version": "1.2", "pid": 7], "protocol": 1, "session": "s-1",
            ])
            #expect((whole.name, whole.version, whole.pid, whole.session) == ("headgate", "1.2", 7, "s-1"))
            await client.close()
        }
    }

    @Test("B26: the status that the daemon accepted last stays if the next one is refused, or cancelled")
    func former() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            try await client.announce(.background)
            await scene.daemon.follow { _ in .refuse(RPCError(.limit)) }
            await #expect(throws: ClientError.refused(RPCError(.limit))) { try await client.announce(.foreground) }
            await scene.daemon.follow { $0.params["status"] == "foreground" ? .ignore : .answer }
            let announcing = Task { try await client.announce(.foreground) }
            await scene.daemon.wait { $0.requests.count == 3 }
            announcing.cancel()
            await #expect(throws: CancellationError.self) { try await announcing.value }
            try await client.ping()
            await scene.daemon.kill()
            try await scene.daemon.start()
            try await client.ping()
            let words = await scene.daemon.record.requests.map { $0.params.get(key: "status") ?? $0.method }
            // The daemon may have applied the unanswered status, so the client announces the last accepted one again.
            #expect(
                words == ["background", "foreground", "foreground", "background", "ping", "background", "ping"])
            await client.close()
        }
    }

    @Test("A status that is refused is thrown, and not announced again")
    func refused() async throws {
        try await withDaemon { scene in
            let error = RPCError(.limit)
            await scene.daemon.follow { _ in .refuse(error) }
            let client = try scene.client()
            await #expect(throws: ClientError.refused(error)) { try await client.announce(.foreground) }
            await scene.daemon.follow { _ in .answer }
            try await client.ping()
            #expect(await scene.daemon.record.requests.map(\.method) == ["application.status", "ping"])
            await client.close()
        }
    }
}
