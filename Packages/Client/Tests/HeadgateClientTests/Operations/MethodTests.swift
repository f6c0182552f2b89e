import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests that the client has a function for every method of the protocol.
@Suite(.timeLimit(.minutes(5))) struct MethodTests {
    private typealias Function = @Sendable (HeadgateClient) async throws -> Void

    /// The function that calls each method of the daemon. Every connection calls `hello` by itself.
    private static let functions: [String: Function] = [
        "hello": { _ = try await $0.greeting() },
        "track": { try await $0.track("seen", id: "1", key: "k", dispatchers: ["a"], timeToLive: .seconds(1)) },
        "track_many": { try await $0.trackMany([OutgoingEvent("seen")]) },
        "flush": { try await $0.flush(dispatchers: ["a"], as: "f", wait: true, timeout: .seconds(1)) },
        "application.status": { try await $0.announce(.foreground) },
        "watch": { for try await _ in $0.watch([.barriers]) { break } },
        "unwatch": { for try await _ in $0.watch() { break } },
        "dispatcher.list": { _ = try await $0.dispatchers() },
        "dispatcher.pause": { try await $0.pause("a", reason: "why", flushable: true) },
        "dispatcher.resume": { try await $0.resume("a") },
        "dispatcher.subscribe": { try await MethodTests.briefly($0) { try await $0.work(for: "a") { _ in [:] } } },
        "dispatcher.unsubscribe": { try await MethodTests.briefly($0) { try await $0.work(for: "a") { _ in [:] } } },
        "barrier.list": { _ = try await $0.barriers() },
        "barrier.register": {
            _ = try await $0.barrier("b", .open, scopes: ["a"], flushable: true, onDisconnect: .keep)
        },
        "barrier.set": { try await $0.barrier("b", .open).set(.closed, for: "a", reason: "why") },
        "barrier.unregister": { try await $0.unregisterBarrier("b", force: true) },
        "queue.peek": { _ = try await $0.peek("a", after: 7, limit: 3) },
        "queue.purge": { try await $0.purgeQueue(of: "a", before: 7) },
        "dead_letters.list": { _ = try await $0.deadLetters(of: "a", after: 1, limit: 3) },
        "dead_letters.requeue": { try await $0.requeueDeadLetters(of: "a", [1]) },
        "dead_letters.purge": { try await $0.purgeDeadLetters(of: "a", [1]) },
        "board.serve": {
            try await MethodTests.briefly($0) {
                try await $0.serve("b", barrier: BoardBarrier("c"), bypassGateway: true) { _ in .done }
            }
        },
        "board.unserve": { try await MethodTests.briefly($0) { try await $0.serve("b") { _ in .done } } },
        "board.activate": {
            try await $0.activate("b", input: 1, mainboard: "m", timeout: .seconds(1), wait: .seconds(1))
        },
        // written by Tools/protocol: tried
        "ping": { _ = try await $0.ping() },
        "rights": { _ = try await $0.rights() },
        "rpc.discover": { _ = try await $0.discover() },
        "flush.cancel": { _ = try await $0.cancelFlush("a") },
        "flush.list": { _ = try await $0.flushes() },
        "status": { _ = try await $0.status() },
        "dispatcher.retry": { _ = try await $0.retry("a") },
        "dispatcher.rewind": { _ = try await $0.rewind("a", to: 1, dryRun: true) },
        "config.get": { _ = try await $0.settings(HeadgateClient.SettingsLayer.allCases[0]) },
        "config.set": { _ = try await $0.changeSettings([:], persist: true) },
        "config.reload": { _ = try await $0.reloadSettings() },
        "metrics": { _ = try await $0.metrics() },
        "event.trace": { _ = try await $0.eventTrace("a", namespace: "a") },
        "client.list": { _ = try await $0.clients() },
        "store.backup": { _ = try await $0.backup("a") },
        "store.erase": { _ = try await $0.erase(1, reason: "a", dryRun: true) },
        "store.rekey": { _ = try await $0.rekey() },
        // end of what Tools/protocol has written
    ]

    /// Results of the methods for which `{}` is not enough.
    private static let results: [String: DataObject] = [
        "flush": ["flush": "f", "ended": "settled", "dispatchers": [:]], "watch": ["watch": "w"],
        "dispatcher.list": ["dispatchers": []], "barrier.list": ["barriers": []], "queue.peek": ["events": []],
        "queue.purge": ["purged": 0], "dead_letters.list": ["dead_letters": [], "next": nil],
        "dead_letters.requeue": ["count": 0], "dead_letters.purge": ["count": 0], "board.activate": ["done": true],
        "config.reload": ["changed": []], "client.list": ["clients": []], "metrics": ["metrics": []],
        "event.trace": ["events": []], "flush.list": ["flushes": []],
    ]

    /// The names of the params of each method, by Docs/openrpc.json.
    private static let documented = Dictionary(
        ProtocolDocument.methods.map { method in
            let params = method.get(key: "params", as: [DataObject].self) ?? []
            return (method.get(key: "name") ?? "", Set(params.compactMap { $0.get(key: "name", as: String.self) }))
        }
    ) { first, _ in first }

    @Test("The client has a function for each method of Docs/openrpc.json, and no others")
    func all() {
        let requested: Set<String> = ["dispatch", "board.run", "board.barrier", "changed", "closing"]
        #expect(Set(Self.documented.keys).subtracting(requested) == Set(Self.functions.keys))
    }

    @Test("Each function calls its method, with params that Docs/openrpc.json has", arguments: functions.keys.sorted())
    func calls(_ method: String) async throws {
        try await withDaemon { scene in
            for (method, result) in Self.results { await scene.daemon.answer(method, with: result) }
            let client = try scene.client()
            try await Self.functions[method]?(client)
            guard method != "hello" else {
                #expect(await scene.daemon.record.greetings.count == 1)
                await client.close()
                return
            }
            await scene.daemon.wait { $0.requests.contains { $0.method == method } }
            let request = try #require(await scene.daemon.record.requests.first { $0.method == method })
            #expect(Set(request.params.keys).subtracting(Self.documented[method] ?? []).isEmpty)
            await client.close()
        }
    }

    /// Serves until the daemon has registered it, and then cancels it.
    private static func briefly(
        _ client: HeadgateClient, _ serve: @escaping @Sendable (HeadgateClient) async throws -> Void
    ) async throws {
        let task = Task { try await serve(client) }
        while await !client.servesAnything { await Task.yield() }
        // The ping's answer shows that the call was sent. A call that is cancelled earlier is never sent.
        try await client.ping()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

extension HeadgateClient {
    fileprivate var servesAnything: Bool { !connection.boards.isEmpty || !connection.subscriptions.isEmpty }
}
