import HeadgateClient
import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

/// Tests boards over a real socket (Behaviour A1).
@Suite(.timeLimit(.minutes(5))) struct BoardTests {
    private struct NoPaper: Error {}

    private func run(_ number: Int, _ board: String, _ more: String = "") -> String {
        #"{"jsonrpc":"2.0","id":\#(number),"method":"board.run","params":{"board":"\#(board)","activation":"a-1"\#(more)}}"#
    }

    @Test("A1: each run is answered with its outcome; cancelling ends the service, in the client and at the daemon")
    func runs() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let task = Task {
                try await client.serve("till") { activation in
                    #expect(activation.board == "till" && activation.activation == "a-1")
                    switch activation.input {
                    case "throw": throw NoPaper()
                    case "refuse": return .refused
                    case let input: return .done(input)
                    }
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            let texts = ["", #","input":"refuse""#, #","input":"throw""#, #","input":{"a":1},"as_barrier":true"#]
            for (number, text) in texts.enumerated() { await scene.daemon.sendToAll(run(number, "till", text)) }
            await scene.daemon.sendToAll(run(4, "other"))
            await scene.daemon.sendToAll(#"{"jsonrpc":"2.0","id":5,"method":"board.run","params":{}}"#)
            await scene.daemon.wait { $0.results.count == 3 && $0.answers.count == 3 }
            let results = await scene.daemon.record.results
            #expect(
                Set(results) == [
                    #"0: {"done":true}"#, #"1: {"done":false}"#, #"3: {"done":true,"output":{"a":1}}"#,
                ])
            #expect(
                await Set(scene.daemon.record.answers) == [
                    "2: NoPaper()", "4: this client does not serve board other", "5: board: must be a board's name",
                ])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await scene.daemon.wait { $0.requests.count == 2 }
            let requests = await scene.daemon.record.requests
            #expect(requests.map(\.method) == ["board.serve", "board.unserve"])
            #expect(requests.map(\.params) == [["board": "till"], ["board": "till"]])
            await client.close()
        }
    }

    @Test("A2: the program chooses the barrier of each activation; an error that it throws is the answer")
    func chosenBarriers() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let task = Task {
                try await client.serve("till") { choice in
                    guard choice.input != "throw" else { throw NoPaper() }
                    return choice.input == nil ? nil : BoardBarrier("login")
                } _: { _ in
                    .done
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            for (number, input) in ["", #","input":{"n":1}"#, #","input":"throw""#].enumerated() {
                await scene.daemon.sendToAll(
                    #"{"jsonrpc":"2.0","id":\#(number),"method":"board.barrier","params":{"board":"till"\#(input)}}"#)
            }
            await scene.daemon.wait { $0.results.count == 2 && $0.answers.count == 1 }
            let record = await scene.daemon.record
            #expect(record.requests.map(\.params) == [["board": "till", "barrier": "ask"]])
            #expect(
                Set(record.results) == [
                    "0: {}", #"1: {"barrier":{"board":"login","option":"void","scope":"main"}}"#,
                ])
            #expect(record.answers == ["2: NoPaper()"])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await client.close()
        }
    }

    @Test("A2: a board's barrier is declared when it is served, and again after a restart")
    func servedAgain() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let (news, continuation) = AsyncStream.makeStream(of: ServingNews.self)
            let barrier = BoardBarrier(
                "login", option: .unique, scope: .global, timeout: .seconds(5), onTimeout: .pass, sticky: .seconds(60))
            let task = Task {
                try await client.serve(
                    "till", barrier: barrier, bypassGateway: true, onNews: { continuation.yield($0) }
                ) { _ in
                    .done
                }
            }
            var reported = news.makeAsyncIterator()
            #expect(await reported.next() == .began)
            await scene.daemon.kill()
            #expect(await reported.next() == .interrupted(.disconnected))
            try await scene.daemon.start()
            #expect(await reported.next() == .began)
            let params: DataObject = [
                "board": "till",
                "barrier": [
                    "board": "login", "option": "unique", "scope": "global", "timeout_ms": 5000, "on_timeout": "pass",
                    "sticky_ms": 60000,
                ], "bypass_gateway": true,
            ]
            #expect(await scene.daemon.record.requests.map(\.params) == [params, params])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await client.close()
        }
    }

    @Test("A board is served by one task at a time, and by the next as soon as that has been cancelled")
    func oneAtATime() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let first = Task { try await client.serve("till") { _ in .refused } }
            await scene.daemon.wait { $0.requests.count == 1 }
            let conflict = ClientError.refused(RPCError(.conflict, "this client already serves board till"))
            await #expect(throws: conflict) { try await client.serve("till") { _ in .refused } }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            let second = Task { try await client.serve("till") { _ in .done } }
            await scene.daemon.wait { $0.requests.count == 3 }
            #expect(
                await scene.daemon.record.requests.map(\.method) == ["board.serve", "board.unserve", "board.serve"])
            await scene.daemon.sendToAll(run(1, "till"))
            await scene.daemon.wait { $0.results.count == 1 }
            #expect(await scene.daemon.record.results == [#"1: {"done":true}"#])
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            await client.close()
        }
    }

    @Test("A refusal is thrown, and so is an answer without `done`")
    func refused() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            await scene.daemon.answer("board.activate", with: ["done": true, "output": "x"])
            #expect(try await client.activate("till", input: [1, 2], mainboard: "shop") == .done("x"))
            let requested: DataObject = ["board": "till", "input": [1, 2], "mainboard": "shop"]
            #expect(await scene.daemon.record.requests.last?.params == requested)
            await scene.daemon.answer("board.activate", with: [:])
            await #expect(throws: ClientError.badAnswer("the result of board.activate has no done")) {
                try await client.activate("till")
            }
            let error = RPCError(.activationCycle)
            await scene.daemon.follow { _ in .refuse(error) }
            await #expect(throws: ClientError.refused(error)) { try await client.serve("till") { _ in .done } }
            await #expect(throws: ClientError.refused(error)) { try await client.activate("till") }
            await client.close()
        }
    }
}
