import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Barriers that a board's process chooses for each activation, over the socket", .timeLimit(.minutes(5)))
struct BarrierChoiceTests {
    /// Runs a service with three clients: one serves `auth`, one serves `shop` and chooses its barriers, and one
    /// activates boards.
    private func run(
        _ body: (_ auth: LineClient, _ shop: LineClient, _ client: LineClient) async throws -> Void
    ) async throws {
        try await ServiceStage.run { stage in
            let (auth, shop) = (try await stage.client(), try await stage.client())
            try await auth.serve("auth")
            try await shop.call("board.serve", ["board": "shop", "barrier": "ask"])
            try await body(auth, shop, try await stage.client())
        }
    }

    @Test("A2: with barrier ask, the serving process chooses the barrier of each activation by its input")
    func requested() async throws {
        try await run { auth, shop, client in
            let id = await client.activate("shop", ["input": ["item": 7], "mainboard": "till"])
            let choice = try await shop.choice()
            #expect(choice.params == ["board": "shop", "input": ["item": 7], "mainboard": "till"])
            await shop.answer(choice, ["barrier": ["board": "auth"]])
            #expect(try await auth.runNext()["as_barrier"] == true)
            try await shop.runNext()
            #expect(try await client.answer(to: id)["done"] == true)
        }
    }

    @Test(
        "A2: after an answer without a barrier, or with null, the activation has no barrier",
        arguments: [[:], ["barrier": .null]] as [DataItem])
    func none(answer: DataItem) async throws {
        try await run { _, shop, client in
            let id = await client.activate("shop")
            await shop.answer(try await shop.choice(), answer)
            try await shop.runNext()
            #expect(try await client.answer(to: id)["done"] == true)
        }
    }

    @Test("A2: if the process does not choose within timeout_ms, the activation fails with timeout")
    func late() async throws {
        try await run { _, shop, client in
            let refusal = try await client.error(to: client.activate("shop", ["timeout_ms": 50]))
            #expect(refusal.reason == "timeout")
            await shop.answer(try await shop.choice(), [:])
            try await shop.call("ping")
            #expect(await shop.waitingRequests == 0)
        }
    }

    @Test(
        "A2: an answer with an invalid barrier fails the activation with the cause refused",
        arguments: [
            ["barrier": "auth"], ["barrier": [:]], ["barrier": ["board": "auth", "option": "all"]], 7, ["auth"],
        ] as [DataItem])
    func unsound(answer: DataItem) async throws {
        try await run { _, shop, client in
            let id = await client.activate("shop")
            await shop.answer(try await shop.choice(), answer)
            let refusal = try await client.error(to: id)
            #expect(refusal.reason == "cancelled" && refusal.data["cause"] == "refused")
        }
    }

    @Test("A2: if the process answers with an error instead of a choice, the activation fails with that error")
    func refused() async throws {
        try await run { _, shop, client in
            let id = await client.activate("shop")
            await shop.refuse(try await shop.choice(), ["code": 7, "message": "closed"])
            let refusal = try await client.error(to: id)
            #expect(refusal.data["cause"] == "refused" && refusal.data["error"]["message"] == "closed")
        }
    }

    @Test(
        "A2: null means no barrier; an unknown word, or a number, is refused with its path",
        arguments: ["each", 7] as [DataItem])
    func word(barrier: DataItem) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let id = await client.request("board.serve", ["board": "shop", "barrier": barrier])
            #expect(try await client.error(to: id).data["path"] == "barrier")
            try await client.call("board.serve", ["board": "shop", "barrier": .null])
            let activation = await client.activate("shop")
            try await client.runNext()
            #expect(try await client.answer(to: activation)["done"] == true)
        }
    }

    @Test(
        "A8: a gateway's process that activates a board behind that gateway during a run gets activation_cycle at once")
    func withinRun() async throws {
        try await ServiceStage.run(["gateway": ["rules": ["*": ["board": "auth"]]]]) { stage in
            let (auth, shop) = (try await stage.client(), try await stage.client())
            try await auth.serve("auth")
            try await shop.serve("home")
            try await shop.serve("form")
            let client = try await stage.client()
            let id = await client.activate("home")
            let run = try await auth.run()
            let refusal = try await auth.error(to: auth.activate("form"))
            #expect(refusal.reason == "activation_cycle" && refusal.data["path"] == ["form", "auth", "form"])
            await auth.answer(run)
            try await shop.runNext()
            #expect(try await client.answer(to: id)["done"] == true)
        }
    }
}

/// Tests the choice of barriers by boards of the embedding program.
@Suite("Barriers that a program chooses", .timeLimit(.minutes(5)))
struct ProgramBarrierChoiceTests {
    @Test("A2: the program's closure chooses the barrier from the input, or fails the activation")
    func chosen() async throws {
        let adding: ServiceStage.Adding = {
            $0.onStart = { started in
                try started.boards.serve("shop") { input in
                    if input == "broken" { throw ActivationFault(message: "no paper") }
                    return input == "buy" ? ActivationBarrier(board: "auth") : nil
                } _: {
                    $0.complete()
                }
            }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let (auth, client) = (try await stage.client(), try await stage.client())
            try await auth.serve("auth")
            #expect(try await client.answer(to: client.activate("shop", ["input": "look"]))["done"] == true)
            let held = await client.activate("shop", ["input": "buy"])
            try await auth.runNext(["done": false])
            #expect(try await client.error(to: held).data["barrier"] == "auth")
            #expect(try await client.error(to: client.activate("shop", ["input": "broken"])).data["cause"] == "refused")
        }
    }

    @Test("A8: a program's barrier that activates the board behind it gets the cycle's path")
    func withinRun() async throws {
        let outcomes = Outcomes()
        let adding: ServiceStage.Adding = {
            $0.onStart = { started in
                let boards = started.boards
                try boards.serve("auth") { task in
                    boards.activate("home", mainboard: task.run.mainboard) { outcomes.add($0) }
                    task.complete()
                }
                try boards.serve("home", behind: ActivationBarrier(board: "auth")) { $0.complete() }
            }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            #expect(try await client.answer(to: client.activate("home"))["done"] == true)
            #expect(try await stage.inspect { _ in outcomes.all } == [.cycle(["home", "auth", "home"])])
        }
    }
}

/// The outcomes of activations, used on the service's loop only.
private final class Outcomes: @unchecked Sendable {
    private(set) var all: [ActivationOutcome] = []

    func add(_ outcome: ActivationOutcome) { all.append(outcome) }
}
