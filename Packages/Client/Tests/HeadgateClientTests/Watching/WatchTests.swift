import HeadgateClient
import HeadgateClientTesting
import HeadgateWire
import Testing

/// Tests watches over a real socket (Protocol, `watch`).
@Suite(.timeLimit(.minutes(5))) struct WatchTests {
    private func change(_ watch: String, _ number: Int) -> String {
        #"{"jsonrpc":"2.0","method":"changed","params":{"watch":"\#(watch)","n":\#(number)}}"#
    }

    @Test("B10: a watch gets its own changes, in order, and none of other watches")
    func changes() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("watch", with: ["watch": "w1"])
            let watcher = try Watcher(scene.daemon.path)
            await watcher.watch([.dispatchers, .clients])
            #expect(await watcher.next() == "began")
            let requested = await scene.daemon.record.requests
            #expect(requested.map(\.method) == ["watch"])
            #expect(requested[0].params == ["topics": ["dispatchers", "clients"]])
            for line in [change("w2", 0), #"{"jsonrpc":"2.0","method":"changed"}"#, change("w1", 1), change("w1", 2)] {
                await scene.daemon.sendToAll(line)
            }
            #expect(await watcher.next() == #"changed {"watch":"w1","n":1}"#)
            #expect(await watcher.next() == #"changed {"watch":"w1","n":2}"#)
            await watcher.close()
            #expect(await watcher.next() == "ended: \(ClientError.closed)")
        }
    }

    @Test("B10: a watch without topics requests all, and begins again under a new id after a restart of the daemon")
    func restart() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("watch", with: ["watch": "old"])
            let watcher = try Watcher(scene.daemon.path)
            await watcher.watch()
            #expect(await watcher.next() == "began")
            #expect(await scene.daemon.record.requests[0].params.isEmpty)
            await scene.daemon.kill()
            #expect(await watcher.next() == "interrupted: \(ClientError.disconnected)")
            await scene.daemon.answer("watch", with: ["watch": "new"])
            try await scene.daemon.start()
            #expect(await watcher.next() == "began")
            await scene.daemon.sendToAll(change("old", 1))
            await scene.daemon.sendToAll(change("new", 2))
            #expect(await watcher.next() == #"changed {"watch":"new","n":2}"#)
            await watcher.close()
        }
    }

    @Test("An abandoned watch ends in the client and at the daemon")
    func cancelled() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("watch", with: ["watch": "w1"])
            let watcher = try Watcher(scene.daemon.path)
            await watcher.watch()
            #expect(await watcher.next() == "began")
            await watcher.cancel()
            #expect(await watcher.next() == "ended: \(CancellationError())")
            await scene.daemon.wait { $0.requests.count == 2 }
            let request = await scene.daemon.record.requests[1]
            #expect(request.method == "unwatch")
            #expect(request.params == ["watch": "w1"])
            await watcher.close()
        }
    }

    @Test("A watch that is abandoned before the daemon has answered ends there as well")
    func cancelledEarly() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("watch", with: ["watch": "w1"])
            await scene.daemon.follow { $0.method == "watch" ? .hold : .answer }
            let watcher = try Watcher(scene.daemon.path)
            await watcher.watch()
            await scene.daemon.wait { $0.requests.count == 1 }
            await watcher.cancel()
            #expect(await watcher.next() == "ended: \(CancellationError())")
            await scene.daemon.release()
            await scene.daemon.wait { $0.requests.count == 2 }
            let request = await scene.daemon.record.requests[1]
            #expect(request.method == "unwatch")
            #expect(request.params == ["watch": "w1"])
            await watcher.close()
        }
    }

    @Test("A watch of an earlier connection is not ended on the next one, where its id may be another watch's")
    func cancelledBetween() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("watch", with: ["watch": "w1"])
            await scene.daemon.follow { $0.method == "status" ? .hold : .answer }
            let watcher = try Watcher(scene.daemon.path) { $0.maxUnanswered = 1 }
            await watcher.watch()
            #expect(await watcher.next() == "began")
            // While this call is unanswered, the client writes nothing else.
            await watcher.ask("status")
            await scene.daemon.wait { $0.requests.count == 2 }
            await watcher.cancel()
            #expect(await watcher.next() == "ended: \(CancellationError())")
            await scene.daemon.kill()
            await scene.daemon.follow { _ in .answer }
            try await scene.daemon.start()
            await watcher.ask("ping")
            await scene.daemon.wait { $0.requests.last?.method == "ping" }
            #expect(await scene.daemon.record.requests.map(\.method) == ["watch", "status", "status", "ping"])
            await watcher.close()
        }
    }

    @Test("A watch that is refused ends, and so does one whose answer has no id")
    func refused() async throws {
        try await withDaemon { scene in
            await scene.daemon.follow { _ in .refuse(RPCError(.unauthorized, "not you")) }
            let watcher = try Watcher(scene.daemon.path)
            await watcher.watch()
            #expect(await watcher.next() == "ended: not you")
            await scene.daemon.follow { _ in .answer }
            await watcher.watch()
            let error = ClientError.badAnswer("the result of watch has no id")
            #expect(await watcher.next() == "ended: \(error)")
            await watcher.close()
        }
    }

    @Test("Without a daemon a watch ends at its timeout")
    func noReader() async throws {
        let scene = try ClientScene()
        let watcher = try Watcher(scene.daemon.path) { $0.connectTimeout = .zero }
        await watcher.watch()
        #expect(await watcher.next()?.hasPrefix("ended: cannot connect") == true)
        await watcher.close()
    }
}
