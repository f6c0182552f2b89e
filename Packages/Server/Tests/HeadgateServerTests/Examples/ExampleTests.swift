import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests that the examples of `Docs/Boards.md`, `Docs/Sending.md` and `Docs/Barriers.md` do what these pages say.
@Suite("Examples of programs that embed the server", .timeLimit(.minutes(5)))
struct ExampleTests {
    @Test("A2: checkout waits for login, and is cancelled if login refuses")
    func boards() async throws {
        let adding: ServiceStage.Adding = {
            $0.onStart = { try ShopBoards(accounts: Accounts(password: "open sesame")).serve($0.boards) }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            let refused = try await client.error(to: client.activate("checkout", ["input": "open barley"]))
            #expect(refused.data["barrier"] == "login" && refused.data["cause"] == "refused")
            let id = await client.activate("checkout", ["input": "open sesame"])
            #expect(try await client.answer(to: id)["output"]["sold"] == "open sesame")
        }
    }

    @Test("A1: a Swift task returns a price, or the cause of its failure")
    func prices() async throws {
        let adding: ServiceStage.Adding = { $0.onStart = { try PriceBoard(prices: Fruit()).serve($0.boards) } }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            #expect(try await client.answer(to: client.activate("price", ["input": "apple"]))["output"] == 30)
            #expect(try await client.error(to: client.activate("price", ["input": "nail"])).message.contains("nail"))
        }
    }

    @Test("A7: the gateway runs before all boards, except those that are exempt or bypass it")
    func gateway() async throws {
        let reported = TurnLog()
        let adding: ServiceStage.Adding = {
            ShopGateway.add(to: &$0)
            $0.onStart = { started in
                try ShopGateway.open(started.boards) { reported.outcome = $0 }
                for board in ["login", "welcome", "help.returns", "till"] {
                    try started.boards.serve(board) { $0.complete(board != "login") }
                }
            }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            for board in ["welcome", "help.returns", "imprint"] {
                #expect(try await client.answer(to: client.activate(board))["done"] == true)
            }
            #expect(try await client.error(to: client.activate("till")).data["barrier"] == "login")
        }
        #expect(reported.outcome == .completed(done: true, output: nil))
    }

    @Test("D1, B22, S1: a program's settings set the destination of events and the size of batches")
    func sending() throws {
        var configuration = ServerConfiguration(options: DaemonOptions(), environment: ["HOME": "/tmp"], userID: 0)
        SendingExample.configure(&configuration)
        SendingExample.send(inGroups: &configuration)
        let settings = try configuration.load().settings
        #expect(settings.dispatchers.map(\.id) == ["collect"])
        let barrier = settings.barriers.first { $0.id == "BatchingBarrier" }
        #expect(barrier?.scopes == [.dispatcher(id: "collect")])
        #expect(barrier?.configuration["batch_size"] == 10 && barrier?.configuration["max_wait_ms"] == 5_000)
    }

    @Test("K5, S6, Q1: a program's own kind of dispatcher sends the events of a program's own store")
    func ownKind() async throws {
        let roll = PaperRoll()
        let settings: DataObject = ["dispatchers": ["roll": ["kind": "paper"]]]
        let adding: ServiceStage.Adding = { PaperExample.add(roll, to: &$0) }
        try await ServiceStage.run(settings, adding: adding) { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "sale"])
            try await client.call("flush", ["dispatchers": ["roll"], "wait": true])
        }
        #expect(roll.lines.count == 1 && roll.lines.allSatisfy { $0.contains(#""event":"sale""#) })
    }

    @Test("P3, P4: a program's load rule and transformation apply like those of the settings")
    func rules() async throws {
        let adding: ServiceStage.Adding = {
            RulesExample.add(to: &$0)
            $0.onStart = { try RulesExample.addTransformation(to: $0.gate) }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            for data: DataObject in [["cashier": "Ada"], [:]] {
                try await client.call("track", ["event": "sale", "data": .object(data)])
            }
            try await client.call("track", ["event": "return"])
            let sent = try await stage.events(of: "collect", after: client).map { $0["data"]["cashier"] }
            #expect(sent == ["cashier of 3 letters", .null])
            #expect(try await stage.events(of: "archive", after: client).count == 3)
        }
    }
}

private struct Fruit: PriceList {
    func price(of article: DataItem) async throws -> DataItem {
        guard article == "apple" else { throw Missing(what: "a price of \(article)") }
        return 30
    }
}

/// The outcome of a program's activation. It is set on the service's loop, and read after the loop's end.
private final class TurnLog: @unchecked Sendable {
    var outcome: ActivationOutcome?
}
