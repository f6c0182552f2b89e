import HeadgateData
import HeadgateTransport
import HeadgateWire
import Testing

@testable import HeadgateServer

/// Tests the server's requests to a client, and their answers.
@Suite struct PeerRequestTests {
    @Test("An answer reaches the side that asked, and a second answer is ignored")
    func answer() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let answers = try await stage.ask(client)
            let request = try await client.peerRequest()
            #expect(request["method"] == "board.run")
            #expect(request["params"]["board"] == "login")
            let id: Int = try #require(request["id"].get())
            await client.send(#"{"jsonrpc":"2.0","id":\#(id),"result":{"done":true}}"#)
            await client.send(#"{"jsonrpc":"2.0","id":\#(id),"result":{"done":false}}"#)
            try await client.call("ping")
            #expect(answers.all == [#"{"done":true}"#])
        }
    }

    @Test("An error is an answer, too")
    func error() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let answers = try await stage.ask(client)
            let id: Int = try #require(try await client.peerRequest()["id"].get())
            await client.send(#"{"jsonrpc":"2.0","id":\#(id),"error":{"code":-32000,"message":"no key"}}"#)
            try await client.call("ping")
            #expect(answers.all == ["refused: no key"])
        }
    }

    @Test(
        "Protocol, Framing: a null outcome beside the other outcome is ignored, as many libraries write both",
        arguments: [
            (#""result":{"done":true},"error":null"#, #"{"done":true}"#),
            (#""result":null,"error":{"code":1,"message":"no key"}"#, "refused: no key"),
        ])
    func bothMembers(members: String, expected: String) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let answers = try await stage.ask(client)
            let id: Int = try #require(try await client.peerRequest()["id"].get())
            await client.send(#"{"jsonrpc":"2.0","id":\#(id),\#(members)}"#)
            try await client.call("ping")
            #expect(answers.all == [expected])
            #expect(await !client.hasAnswer(to: id))
        }
    }

    @Test(
        "Protocol, Framing: an invalid answer counts as an error, and no answer is sent under its id",
        arguments: [
            #"{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"no"}}"#,
            #"{"jsonrpc":"2.0","id":ID,"error":"no"}"#, #"{"jsonrpc":"2.0","id":ID,"error":null}"#,
            #"{"id":ID,"result":{"done":true}}"#, #"[{"jsonrpc":"2.0","id":ID,"result":{},"error":[]}]"#,
        ])
    func malformed(answer: String) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let answers = try await stage.ask(client)
            let id: Int = try #require(try await client.peerRequest()["id"].get())
            for _ in 1...2 { await client.send(answer.replacing("ID", with: "\(id)")) }
            try await client.call("ping")
            #expect(answers.all.count == 1)
            #expect(answers.all.first?.hasPrefix("refused: ") == true)
            #expect(await !client.hasAnswer(to: id))
        }
    }

    @Test("A client that disconnects answers all its requests with that, once", arguments: [true, false])
    func gone(byHalf: Bool) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let answers = try await stage.ask(client)
            _ = try await client.peerRequest()
            if byHalf { await client.shutDown() } else { await client.close() }
            let other = try await stage.client()
            while answers.all.isEmpty { try await other.call("ping") }
            #expect(answers.all == ["gone"])
        }
    }

    @Test("X3: an answer to an unknown request has no effect", arguments: ["7", "0", "-1", "null", #""a""#, "1.5"])
    func answerToNothing(id: String) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let answers = try await stage.ask(client)
            await client.send(#"{"jsonrpc":"2.0","id":\#(id),"result":{}}"#)
            try await client.call("ping")
            #expect(answers.all.isEmpty)
        }
    }

    @Test("A withdrawn request has no answer")
    func withdrawn() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let answers = try await stage.ask(client, withdrawing: true)
            let id: Int = try #require(try await client.peerRequest()["id"].get())
            await client.send(#"{"jsonrpc":"2.0","id":\#(id),"result":{}}"#)
            try await client.call("ping")
            #expect(answers.all.isEmpty)
        }
    }
}

/// The results of the requests, in order.
private final class Answers: Sendable {
    private let answers = Guarded<[String]>([])

    var all: [String] { answers.withLock { $0 } }

    func take(_ result: Result<JSONView, PeerFault>) {
        let text =
            switch result {
            case .success(let view): String(decoding: view.raw, as: UTF8.self)
            case .failure(.refused(let error)): "refused: \(error.message)"
            case .failure(.gone): "gone"
            }
        answers.withLock { $0.append(text) }
    }
}

extension ServiceStage {
    /// Asks the only client to run a board.
    fileprivate func ask(_ client: LineClient, withdrawing: Bool = false) async throws -> Answers {
        try await client.call("ping")
        let answers = Answers()
        let run: DataObject = [
            "board": "login", "activation": "1", "input": .null, "mainboard": "shop", "as_barrier": false,
        ]
        try inspect { service in
            for session in service.sessions.all {
                let number = session.ask(BoardMessages.run.name, params: { $0.object(run) }, then: answers.take)
                if withdrawing { session.withdraw(number) }
            }
        }
        return answers
    }
}
