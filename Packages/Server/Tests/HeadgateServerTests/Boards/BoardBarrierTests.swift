import Glibc
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Barriers before boards, over the socket", .timeLimit(.minutes(5)))
struct BoardBarrierTests {
    private static let gateway: DataObject = ["gateway": ["rules": ["*": ["board": "auth"], "pub*": "exempt"]]]

    @Test("A2, A4: the barrier runs once for all activations that arrive while it runs, and before any of them")
    func barrier() async throws {
        try await ServiceStage.run { stage in
            let (server, auth) = (try await stage.client(), try await stage.client())
            let client = try await stage.client()
            try await auth.serve("auth")
            try await server.serve("checkout", behind: ["board": "auth"])
            var ids: [Int] = []
            for number in 1...3 { ids.append(await client.activate("checkout", ["input": .number(.init(number))])) }
            let run = try await auth.run()
            #expect(run.params["as_barrier"] == true && run.params["input"] == 1)
            try await client.call("ping")
            await auth.answer(run)
            for number in 1...3 { #expect(try await server.runNext()["input"] == .number(.init(number))) }
            for id in ids { #expect(try await client.answer(to: id)["done"] == true) }
        }
    }

    @Test("A2: if the barrier does not complete, the activation fails with cancelled, the barrier and the cause")
    func refused() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("auth")
            try await server.serve("checkout", behind: ["board": "auth"])
            try await server.serve("hasty", behind: ["board": "auth", "timeout_ms": 50])
            let first = await client.activate("checkout")
            try await server.runNext(["done": false])
            var data = try await client.message(to: first)["error"]["data"]
            #expect(data == ["reason": "cancelled", "barrier": "auth", "cause": "refused"])
            data = try await client.message(to: client.activate("hasty"))["error"]["data"]
            #expect(data == ["reason": "cancelled", "barrier": "auth", "cause": "timeout"])
            try await server.call("board.unserve", ["board": "auth"])
            data = try await client.message(to: client.activate("checkout"))["error"]["data"]
            #expect(data == ["reason": "cancelled", "barrier": "auth", "cause": "provider_lost"])
        }
    }

    @Test("A3: the default mainboard is the connection's namespace, with its user in front")
    func namespaces() async throws {
        try await ServiceStage.run { stage in
            let server = try await stage.client()
            try await server.serve("auth")
            try await server.serve("checkout", behind: ["board": "auth"])
            for namespace in ["one", "two"] {
                let client = try await stage.client()
                try await client.call("hello", ["client": ["name": "c"], "namespace": .string(namespace)])
                _ = await client.activate("checkout")
                #expect(try await server.run().params["mainboard"] == .string("uid:\(getuid())/\(namespace)"))
            }
        }
    }

    @Test("A3: the default mainboard of a connection without a namespace is its user")
    func defaultNamespace() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("auth")
            try await server.serve("checkout", behind: ["board": "auth"])
            _ = await client.activate("checkout")
            #expect(try await server.run().params["mainboard"] == .string("uid:\(getuid())"))
            // The default mainboard is the same as this one, given by name.
            _ = await client.activate("checkout", ["mainboard": .string("uid:\(getuid())")])
            try await client.call("ping")
            try await server.call("ping")
            #expect(await server.waitingRequests == 0)
        }
    }

    @Test(
        "A6: if the barrier's process disconnects, another process that serves the barrier gets the run",
        arguments: [true, false])
    func passOn(byHalf: Bool) async throws {
        try await ServiceStage.run { stage in
            let (first, second) = (try await stage.client(), try await stage.client())
            let (server, client) = (try await stage.client(), try await stage.client())
            try await first.serve("auth")
            try await server.serve("checkout", behind: ["board": "auth"])
            let id = await client.activate("checkout")
            let run = try await first.run()
            try await second.serve("auth")
            if byHalf { await first.shutDown() } else { await first.close() }
            #expect(try await second.runNext()["activation"] == run.params["activation"])
            try await server.runNext()
            #expect(try await client.answer(to: id)["done"] == true)
        }
    }

    @Test("A2: all processes that serve one board have to agree on its barrier")
    func conflict() async throws {
        try await ServiceStage.run { stage in
            let (first, second) = (try await stage.client(), try await stage.client())
            try await first.serve("checkout")
            let params: DataObject = ["board": "checkout", "barrier": ["board": "auth"]]
            #expect(try await second.refusal("board.serve", params).reason == "conflict")
            await first.close()
            while try await stage.inspect({ $0.boards.isServed("checkout") }) {}
            try await second.call("board.serve", params)
        }
    }

    @Test("A8: a board whose barrier would close a cycle is refused, with the cycle's path")
    func cycle() async throws {
        try await ServiceStage.run { stage in
            let server = try await stage.client()
            try await server.serve("a", behind: ["board": "b"])
            let id = await server.request("board.serve", ["board": "b", "barrier": ["board": "a"]])
            let data = try await server.message(to: id)["error"]["data"]
            #expect(data == ["reason": "activation_cycle", "path": ["b", "a", "b"]])
        }
    }

    // MARK: Gateways

    @Test("A7: the gateway of the settings runs before all boards, except exempt boards and its own board")
    func gateway() async throws {
        try await ServiceStage.run(BoardBarrierTests.gateway) { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            for board in ["auth", "checkout", "public"] { try await server.serve(board) }
            for board in ["checkout", "public", "auth"] { _ = await client.activate(board) }
            #expect(try await server.run().board == "auth")
            #expect(try await server.run().board == "public")
            let own = try await server.run()
            #expect(own.board == "auth" && own.params["as_barrier"] == false)
        }
    }

    @Test("A7: a bypass that the settings forbid is ignored, with a warning")
    func bypass() async throws {
        try await ServiceStage.run(BoardBarrierTests.gateway) { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("auth")
            try await server.call("board.serve", ["board": "checkout", "bypass_gateway": true])
            _ = await client.activate("checkout")
            #expect(try await server.runNext()["board"] == "checkout")
            #expect(try await client.call("status")["warnings"] == [])
            try await client.call("config.set", ["patch": ["gateway": ["allow_bypass": false]]])
            _ = await client.activate("checkout")
            #expect(try await server.runNext()["board"] == "auth")
            let warnings = try await client.call("status")["warnings"]
            #expect(warnings == ["board checkout: asks to bypass the gateway, which the settings forbid"])
        }
    }

    @Test("A7, S3: gateways can be changed while the service runs; invalid ones are refused and change nothing")
    func changes() async throws {
        try await ServiceStage.run(BoardBarrierTests.gateway) { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            for board in ["auth", "checkout"] { try await server.serve(board) }
            let faulty: DataObject = ["patch": ["gateway": ["rules": ["auth": ["board": "login"]]]]]
            #expect(try await client.refusal("config.set", faulty).reason == "invalid_settings")
            _ = await client.activate("checkout")
            #expect(try await server.runNext()["board"] == "auth")
            #expect(try await server.runNext()["board"] == "checkout")
            try await client.call("config.set", ["patch": ["gateway": ["rules": ["checkout": "exempt"]]]])
            _ = await client.activate("checkout")
            #expect(try await server.runNext()["board"] == "checkout")
        }
    }

    @Test("A8, S3: if a reload closes a cycle among served boards, their activations fail with the cycle's path")
    func reloadedCycle() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("database")
            try await server.serve("auth", behind: ["board": "database"])
            var text = JSONWriter()
            text.object(ServiceStage.defaultSettings.patched(with: ["gateway": ["rules": ["*": ["board": "auth"]]]]))
            _ = try stage.folder.write(text.text, to: "headgate.json")
            #expect(try await client.call("config.reload")["changed"] != [])
            let data = try await client.message(to: client.activate("database"))["error"]["data"]
            #expect(data == ["reason": "activation_cycle", "path": ["database", "auth", "database", "auth"]])
            try await server.call("ping")
            #expect(await server.waitingRequests == 0)
        }
    }
}
