import HeadgateData
import HeadgateTransport
import HeadgateWire
import Testing

@testable import HeadgateServer

/// Tests requests of the server to a client, and the client's answers.
@Suite struct PeerRequestTests {
    @Test("The answer to a request of the server reaches its sender, and a second answer is ignored")
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

    @Test("An error of the client is reported to the request's sender")
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
        "Protocol, Framing: an answer may have a null `error` beside its result, or a null `result` beside its error",
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
        "Protocol, Framing: an invalid answer counts as an error, and the server sends no reply to it",
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

    @Test("When a client disconnects, each of its unanswered requests fails once", arguments: [true, false])
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

    @Test("X3: an answer with an unknown id has no effect", arguments: ["7", "0", "-1", "null", #""a""#, "1.5"])
    func answerToNothing(id: String) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let answers = try await stage.ask(client)
            await client.send(#"{"jsonrpc":"2.0","id":\#(id),"result":{}}"#)
            try await client.call("ping")
            #expect(answers.all.isEmpty)
        }
    }

    @Test("The answer to a withdrawn request is ignored")
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

/// A thread-safe list of the requests' results, in order of arrival.
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
    /// Sends a `board.run` request to the only client.
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
