import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Boards over the socket", .timeLimit(.minutes(5)))
struct BoardTests {
    @Test("A1: a process that serves a board runs it, and the client gets the process's answer")
    func activated() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("checkout")
            let id = await client.activate("checkout", ["input": ["b": 1.50, "a": "é"], "mainboard": "shop"])
            let run = try await server.run()
            #expect(run.params["input"].json == #"{"b":1.5,"a":"é"}"# && run.params["mainboard"] == "shop")
            #expect(run.params["as_barrier"] == false && run.params["activation"] == "activation-1")
            await server.answer(run, ["done": true, "output": ["paid": 12]])
            #expect(try await client.answer(to: id).json == #"{"done":true,"output":{"paid":12}}"#)
            let second = await client.activate("checkout")
            let params = try await server.runNext(["done": false])
            #expect(params["input"] == .null)
            #expect(try await client.answer(to: second).json == #"{"done":false}"#)
        }
    }

    @Test("P6: a board's input and output keep their JSON text")
    func fidelity() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("echo")
            let item = #"{"z":1.2500,"a":[12345678901234567890.10,1e400,"\u0001😀"],"a2":{}}"#
            await client.send(
                #"{"jsonrpc":"2.0","id":99,"method":"board.activate","params":{"board":"echo","input":\#(item)}}"#)
            let run = try await server.run()
            #expect(run.params["input"].json == item)
            await server.answer(run, ["done": true, "output": run.params["input"]])
            #expect(try await client.answer(to: 99)["output"].json == item)
        }
    }

    @Test("A1: activating a board without a server fails with not_found, at once or after wait_ms")
    func notServed() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            for params: DataObject in [[:], ["wait_ms": 0], ["wait_ms": 10]] {
                let refusal = try await client.error(to: client.activate("checkout", params))
                #expect(refusal.reason == "not_found")
            }
            let patient = await client.activate("checkout", ["wait_ms": 600_000])
            let server = try await stage.client()
            try await server.serve("checkout")
            try await server.runNext()
            #expect(try await client.answer(to: patient)["done"] == true)
        }
    }

    @Test("A1: if the process does not answer within timeout_ms, the activation fails with timeout")
    func timeout() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("checkout")
            let id = await client.activate("checkout", ["timeout_ms": 50])
            let run = try await server.run()
            #expect(try await client.error(to: id).reason == "timeout")
            await server.answer(run)
            try await server.call("ping")
        }
    }

    @Test(
        "A1: if the serving process disconnects during a run, the activation fails with provider_lost",
        arguments: [true, false])
    func providerLost(byHalf: Bool) async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("checkout")
            let id = await client.activate("checkout")
            _ = try await server.run()
            if byHalf { await server.shutDown() } else { await server.close() }
            #expect(try await client.error(to: id).reason == "provider_lost")
            #expect(try await client.error(to: client.activate("checkout")).reason == "not_found")
        }
    }

    @Test("A1: a client that half-closes serves no board any longer, even while it waits for an answer itself")
    func halfClosedServer() async throws {
        try await ServiceStage.run { stage in
            let (gone, heir) = (try await stage.client(), try await stage.client())
            let (other, client) = (try await stage.client(), try await stage.client())
            try await other.serve("slow")
            try await gone.serve("checkout")
            let own = await gone.activate("slow", ["timeout_ms": 600_000])
            let slow = try await other.run()
            await gone.shutDown()
            while try await stage.inspect({ $0.boards.isServed("checkout") }) { try Task.checkCancellation() }
            #expect(try await client.error(to: client.activate("checkout")).reason == "not_found")
            let patient = await client.activate("checkout", ["wait_ms": 600_000])
            try await client.call("ping")
            // The new provider may declare another barrier than the one that has left.
            try await other.serve("fast")
            try await heir.serve("checkout", behind: ["board": "fast"])
            #expect(try await other.runNext()["board"] == "fast")
            #expect(try await heir.runNext()["board"] == "checkout")
            #expect(try await client.answer(to: patient)["done"] == true)
            await other.answer(slow)
            #expect(try await gone.answer(to: own)["done"] == true)
        }
    }

    @Test("The serving process's error is returned unchanged, in an error with the reason cancelled")
    func failed() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("checkout")
            let id = await client.activate("checkout")
            let error: DataItem = ["code": -32601, "message": "no such thing", "data": ["why": 7]]
            await server.refuse(try await server.run(), error)
            let message = try await client.message(to: id)["error"]
            #expect(message["code"] == -32000 && message["message"] == "board checkout: no such thing")
            #expect(message["data"]["reason"] == "cancelled" && message["data"]["error"] == error)
        }
    }

    @Test(
        "X3: an answer without a Boolean done fails the activation, and has no other effect",
        arguments: [nil, 7, "done", [], [:], ["done": "yes"], ["done": nil], [["done": true]]] as [DataItem])
    func hostileAnswer(result: DataItem) async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("checkout")
            let id = await client.activate("checkout")
            await server.answer(try await server.run(), result)
            #expect(try await client.error(to: id).message.hasSuffix("the serving process answered without `done`"))
            let next = await client.activate("checkout")
            try await server.runNext()
            #expect(try await client.answer(to: next)["done"] == true)
        }
    }

    @Test("X3: an answer to the run of another process changes nothing")
    func foreignAnswer() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            let other = try await stage.client()
            try await server.serve("checkout")
            try await other.serve("other")
            let id = await client.activate("checkout")
            let run = try await server.run()
            await other.answer(run, ["done": true, "output": "forged"])
            try await other.call("ping")
            await server.answer(run, ["done": true, "output": "true"])
            #expect(try await client.answer(to: id)["output"] == "true")
        }
    }

    @Test("If the client disconnects, its activations are cancelled, and the serving process continues")
    func clientGone() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("checkout")
            _ = await client.activate("checkout")
            let run = try await server.run()
            await client.close()
            let other = try await stage.client()
            await server.answer(run)
            let id = await other.activate("checkout")
            try await server.runNext(["done": true, "output": "second"])
            #expect(try await other.answer(to: id)["output"] == "second")
            #expect(try await stage.inspect { $0.boards.isIdle })
        }
    }

    @Test("A client that half-closes still gets its answer")
    func halfClosed() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("checkout")
            let id = await client.activate("checkout")
            await client.shutDown()
            try await server.runNext(["done": true, "output": "late"])
            #expect(try await client.answer(to: id)["output"] == "late")
        }
    }

    @Test("board.unserve fails with not_found for a board that the client does not serve")
    func unserve() async throws {
        try await ServiceStage.run { stage in
            let (server, other) = (try await stage.client(), try await stage.client())
            try await server.serve("checkout")
            #expect(try await other.refusal("board.unserve", ["board": "checkout"]).reason == "not_found")
            try await server.call("board.unserve", ["board": "checkout"])
            #expect(try await server.refusal("board.unserve", ["board": "checkout"]).reason == "not_found")
            #expect(try await other.error(to: other.activate("checkout")).reason == "not_found")
        }
    }

    @Test("X2: activations in progress and boards of one connection are bounded")
    func limits() async throws {
        try await ServiceStage.run(timeStands: true) { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            for number in 0..<1023 { _ = await server.request("board.serve", ["board": "b\(number)"]) }
            try await server.serve("checkout")
            #expect(try await server.refusal("board.serve", ["board": "more"]).reason == "limit")
            for _ in 0..<1024 { _ = await client.activate("checkout") }
            #expect(try await client.error(to: client.activate("checkout")).reason == "limit")
            #expect(try await stage.client().call("ping") == [:])
        }
    }

    @Test("A board.activate without an id is ignored, and counted as a failed notification")
    func notification() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            await client.send(#"{"jsonrpc":"2.0","method":"board.activate","params":{"board":"a"}}"#)
            try await client.call("ping")
            #expect(try await client.call("status")["counters"]["failed_notifications"] == 1)
        }
    }

    @Test(
        "-32602: each invalid parameter is reported with its path",
        arguments: [
            ("board.serve", [:], "board"), ("board.serve", ["board": ""], "board"),
            ("board.serve", ["board": "a*"], "board"), ("board.serve", ["board": "a", "barrier": 7], "barrier"),
            ("board.serve", ["board": "a", "barrier": [:]], "barrier.board"),
            ("board.serve", ["board": "a", "barrier": ["board": "b", "option": "all"]], "barrier.option"),
            ("board.serve", ["board": "a", "barrier": ["board": "b", "scope": "all"]], "barrier.scope"),
            ("board.serve", ["board": "a", "barrier": ["board": "b", "timeout_ms": 0]], "barrier.timeout_ms"),
            ("board.serve", ["board": "a", "barrier": ["board": "b", "on_timeout": "go"]], "barrier.on_timeout"),
            ("board.serve", ["board": "a", "barrier": ["board": "b", "sticky_ms": 1.5]], "barrier.sticky_ms"),
            ("board.serve", ["board": "a", "bypass_gateway": "yes"], "bypass_gateway"),
            ("board.activate", ["board": "a", "mainboard": ""], "mainboard"),
            ("board.activate", ["board": "a", "timeout_ms": 0], "timeout_ms"),
            ("board.activate", ["board": "a", "wait_ms": -1], "wait_ms"), ("board.unserve", [:], "board"),
        ] as [(String, DataObject, String)])
    func params(method: String, params: DataObject, path: String) async throws {
        try await ServiceStage.run { stage in
            let refusal = try await stage.client().refusal(method, params)
            #expect(refusal.code == -32602 && refusal.path == path)
        }
    }
}
