import HeadgateData
import Testing

@testable import HeadgateServer

/// Inputs and outputs of boards that pass from one client to another.
@Suite("Inputs and outputs of boards", .timeLimit(.minutes(5)))
struct BoardTextTests {
    private func line(_ client: RawClient) async throws -> String {
        while true {
            if let line = client.lines().first { return String(decoding: line, as: UTF8.self) }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private func call(_ id: Int, _ method: String, _ params: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"# + "\n"
    }

    @Test(
        "A1: a board gets its input, and the activating client the output, byte for byte",
        arguments: [
            #"["\ud800",1.0,{"a\udc00":"\ufffd"}]"#, #"{"a":"\ud83d\ude00\ud83d"}"#, #""plain""#, "[1.10,2E5]",
        ])
    func text(value: String) async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (
                try RawClient(connectingTo: stage.socket), try RawClient(connectingTo: stage.socket)
            )
            server.send(call(1, "board.serve", #"{"board":"b"}"#))
            _ = try await line(server)
            client.send(call(2, "board.activate", #"{"board":"b","input":\#(value)}"#))
            let requested = try await line(server)
            #expect(requested.contains(#""input":\#(value),"#), "\(requested)")
            let id = try DataItem(parsing: Array(requested.utf8))["id"].json
            server.send(#"{"jsonrpc":"2.0","id":\#(id),"result":{"done":true,"output":\#(value)}}"# + "\n")
            let answer = try await line(client)
            #expect(answer.contains(#""output":\#(value)}"#), "\(answer)")
        }
    }

    @Test(
        "A1, P6: the client that activates a board gets the serving process's error byte for byte",
        arguments: ["i\\ud83d", "\\ude00 \\u0041", "plain \\ud83d\\ude00"])
    func error(text: String) async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (
                try RawClient(connectingTo: stage.socket), try RawClient(connectingTo: stage.socket)
            )
            server.send(call(1, "board.serve", #"{"board":"b"}"#))
            _ = try await line(server)
            client.send(call(2, "board.activate", #"{"board":"b"}"#))
            let id = try DataItem(parsing: Array(try await line(server).utf8))["id"].json
            let error = #"{"code":7,"message":"\#(text)","data":{"x":"\#(text)"}}"#
            server.send(#"{"jsonrpc":"2.0","id":\#(id),"error":\#(error)}"# + "\n")
            let answer = try await line(client)
            #expect(answer.contains(#""message":"board b: \#(text)""#), "\(answer)")
            #expect(answer.contains(#""error":\#(error)}"#), "\(answer)")
            #expect(answer.contains(#""reason":"cancelled""#), "\(answer)")
        }
    }

    @Test("A4: a barrier gets the input of the first waiting activation, with its escapes unchanged")
    func barrier() async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (
                try RawClient(connectingTo: stage.socket), try RawClient(connectingTo: stage.socket)
            )
            server.send(call(1, "board.serve", #"{"board":"auth"}"#))
            _ = try await line(server)
            server.send(call(2, "board.serve", #"{"board":"b","barrier":{"board":"auth"}}"#))
            _ = try await line(server)
            client.send(call(3, "board.activate", "{\"board\":\"b\",\"input\":[\t\"\\ud800\"]}"))
            let requested = try await line(server)
            #expect(
                requested.contains(#""board":"auth""#) && requested.contains(#""input":[ "\ud800"]"#), "\(requested)")
        }
    }
}
