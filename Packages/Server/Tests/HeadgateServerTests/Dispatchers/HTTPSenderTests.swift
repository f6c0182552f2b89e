import Testing

@testable import HeadgateCore
@testable import HeadgateServer

/// Tests requests as a real server receives them.
@Suite("http dispatcher: requests", .timeLimit(.minutes(5)))
struct HTTPSenderTests {
    @Test("K1: a batch is one POST of a JSON array with Content-Type, Idempotency-Key and User-Agent")
    func jsonArray() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            #expect(await stage.send(#"{"a":1}"#, #"{"b":2}"#) == .delivered)
        }
        let request = try #require(server.requests.first)
        #expect(server.requests.count == 1)
        #expect(request.method == "POST")
        #expect(request.target == "/events")
        #expect(request.text == #"[{"a":1},{"b":2}]"#)
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headers["idempotency-key"]?.hasPrefix("-1-") == true)
        #expect(request.headers["user-agent"] == "headgate/test")
        #expect(request.headers["expect"] == nil)
    }

    @Test("K1: an ndjson body has one event a line, and ends with a line feed")
    func ndjson() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url), as: EventForm(format: .ndjson)) { stage in
            #expect(await stage.send(#"{"a":1}"#, #"{"b":2}"#) == .delivered)
        }
        #expect(server.requests.first?.text == "{\"a\":1}\n{\"b\":2}\n")
        #expect(server.requests.first?.headers["content-type"] == "application/x-ndjson")
    }

    @Test("K1: an envelope names its schema")
    func envelope() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let form = EventForm(format: .envelope, envelopeSchema: "shop/\"2\"")
        try await SenderStage.http(HTTPSettings(endpoint: server.url), as: form) { stage in
            #expect(await stage.send(#"{"a":1}"#, #"{"b":2}"#) == .delivered)
        }
        #expect(server.requests.first?.text == #"{"schema":"shop/\"2\"","data":[{"a":1},{"b":2}]}"#)
        #expect(server.requests.first?.headers["content-type"] == "application/json")
    }

    @Test(
        "K1: a GET request has one event in its query, after any query of the endpoint",
        arguments: ["", "?key=1", "?", "?a=b&"]
    )
    func get(query: String) async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let form = EventForm(method: .get)
        #expect(form.batchFormat.mostEvents == 1)
        try await SenderStage.http(HTTPSettings(endpoint: "\(server.url)\(query)#top"), as: form) { stage in
            #expect(await stage.send(#"{"a":"b c&d=é+%"}"#) == .delivered)
        }
        let request = try #require(server.requests.first)
        let start = query == "" ? "?" : query == "?key=1" ? "?key=1&" : query
        #expect(request.method == "GET")
        #expect(request.target == "/events\(start)event=%7B%22a%22%3A%22b%20c%26d%3D%C3%A9%2B%25%22%7D")
        #expect(request.body.isEmpty)
        #expect(request.headers["idempotency-key"]?.hasPrefix("-1-") == true)
        #expect(request.headers["content-type"] == nil)
    }

    @Test(
        "K1: the Content-Type of a CloudEvents body names its format, single or batch",
        arguments: [
            (EventForm.Format.cloudEvents, "application/cloudevents-batch+json; charset=UTF-8", 3),
            (.singleCloudEvent, "application/cloudevents+json; charset=UTF-8", 1),
        ])
    func cloudEvents(format: EventForm.Format, type: String, most: Int) async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let form = EventForm(format: format, cloudEvents: CloudEventForm(source: "urn:shop"))
        #expect(form.batchFormat.cloudEvents == form.cloudEvents)
        #expect(min(3, form.batchFormat.mostEvents) == most)
        try await SenderStage.http(HTTPSettings(endpoint: server.url), as: form) { stage in
            #expect(await stage.send("{}") == .delivered)
        }
        #expect(server.requests.first?.headers["content-type"] == type)
    }

    @Test("K1: a body of several megabytes arrives complete, without `Expect: 100-continue`")
    func largeBody() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        let event = #"{"text":"\#(String(repeating: "0123456789", count: 300_000))"}"#
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            #expect(await stage.send(event) == .delivered)
        }
        #expect(server.requests.first?.text == "[\(event)]")
        #expect(server.requests.first?.headers["expect"] == nil)
    }

    @Test("K1: consecutive requests reuse one connection")
    func reuse() async throws {
        let server = try ScriptedServer { _ in .ok }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            for _ in 0..<100 { #expect(await stage.send("{}") == .delivered) }
        }
        #expect(server.requests.count == 100)
        #expect(server.connectionCount == 1)
    }

    @Test("K1: a request on a connection that the server has closed is repeated on a new one, within the same attempt")
    func staleConnection() async throws {
        let server = try ScriptedServer { _ in .last("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            for _ in 0..<10 { #expect(await stage.send("{}") == .delivered) }
        }
        #expect(server.requests.count >= 10)
    }

    @Test("K1: the endpoint may be behind a Unix socket")
    func unixSocket() async throws {
        let folder = try ScratchFolder()
        let server = try ScriptedServer(unixSocket: folder("http")) { _ in .ok }
        defer { server.stop() }
        let settings = HTTPSettings(endpoint: "http://collector.example/in", unixSocket: folder("http"))
        try await SenderStage.http(settings) { stage in
            #expect(await stage.send("{}") == .delivered)
        }
        #expect(server.requests.first?.headers["host"] == "collector.example")
        #expect(server.requests.first?.target == "/in")
    }

    @Test("Q2: fifty batches may be in flight at once")
    func fiftyAtOnce() async throws {
        let meeting = Rendezvous(of: 50)
        let server = try ScriptedServer { _ in
            meeting.arrive()
            return .ok
        }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            let results = await stage.sendTogether((0..<50).map { ["{\"n\":\($0)}"] })
            #expect(results == Array(repeating: .delivered, count: 50))
        }
        #expect(Set(server.requests.map(\.text)) == Set((0..<50).map { "[{\"n\":\($0)}]" }))
    }

    @Test("D11: interrupting ends all batches in flight, each once")
    func interrupt() async throws {
        let meeting = Rendezvous(of: 4)
        let server = try ScriptedServer { _ in
            meeting.arrive()
            return .silence
        }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            async let results = stage.sendTogether([["{}"], ["{}"], ["{}"]])
            await meeting.wait()
            await stage.interrupt()
            await stage.interrupt()
            #expect(await results == [.interrupted, .interrupted, .interrupted])
        }
    }

    @Test("D11: closing releases all resources, even with a request in flight")
    func closeInFlight() async throws {
        let meeting = Rendezvous(of: 2)
        let server = try ScriptedServer { _ in
            meeting.arrive()
            return .silence
        }
        defer { server.stop() }
        try await SenderStage.http(HTTPSettings(endpoint: server.url)) { stage in
            await stage.start("{}") { _ in Issue.record("a closed sender reported a result") }
            await meeting.wait()
        }
    }
}
