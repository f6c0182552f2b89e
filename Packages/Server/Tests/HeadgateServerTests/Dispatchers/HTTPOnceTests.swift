import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests `retry_failed_requests`: when it is off, neither Headgate nor libcurl repeats a request.
@Suite("http dispatcher: sent once", .timeLimit(.minutes(5)))
struct HTTPOnceTests {
    /// Returns a server that answers the first request only. It closes the connection of every later request.
    private static func hasty() throws -> ScriptedServer {
        let count = Ordinal()
        return try ScriptedServer { _ in count.next() == 1 ? .ok : .last("") }
    }

    @Test("D9: with retry_failed_requests off a request is sent once, even if the server closes a reused connection")
    func once() async throws {
        let server = try Self.hasty()
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url, isRepeated: false)) { stage in
            #expect(await stage.send(#"{"a":1}"#) == .delivered)
            #expect(await stage.send(#"{"b":2}"#) == .noAnswer(cause: "connection closed without an answer"))
        }
        #expect(server.requests.map(\.text) == [#"[{"a":1}]"#, #"[{"b":2}]"#])
        #expect(server.requests.map(\.connection) == [0, 1])
    }

    @Test("D9: by default libcurl repeats a request when the server closes a reused connection")
    func repeated() async throws {
        let server = try Self.hasty()
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            #expect(await stage.send(#"{"a":1}"#) == .delivered)
            #expect(await stage.send(#"{"b":2}"#) == .noAnswer(cause: "connection closed without an answer"))
        }
        #expect(server.requests.map(\.connection) == [0, 0, 1])
    }

    @Test("D9: with retry_failed_requests off in the settings each request has a connection of its own")
    func settings() async throws {
        let server = try Self.hasty()
        defer { server.stop() }
        let settings: DataObject = [
            "dispatchers": [
                "web": ["kind": "http", "endpoint": .string(server.url), "retry_failed_requests": false],
                "archive": .null, "collect": .null,
            ]
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            for event in ["one", "two"] {
                try await client.call("track", ["event": .string(event)])
                try await client.call("flush", ["wait": true])
            }
            let deadLetters = try await client.call("dead_letters.list")["dead_letters"].elements
            #expect(deadLetters.map { $0["reason"] } == ["retries_off"])
            #expect(deadLetters.map { $0["event"]["event"] } == ["two"])
        }
        #expect(server.requests.map(\.connection) == [0, 1])
    }

    @Test("D9: a change of retry_failed_requests applies to the next request of a running dispatcher")
    func changed() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let settings: DataObject = [
            "dispatchers": [
                "web": ["kind": "http", "endpoint": .string(server.url)], "archive": .null, "collect": .null,
            ]
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            for isRepeated in [true, true, false, false] {
                let patch: DataObject = ["dispatchers": ["web": ["retry_failed_requests": .bool(isRepeated)]]]
                try await client.call("config.set", ["patch": .object(patch)])
                try await client.call("track", ["event": "x"])
                try await client.call("flush", ["wait": true])
            }
        }
        #expect(server.requests.map(\.connection) == [0, 0, 1, 2])
    }
}
