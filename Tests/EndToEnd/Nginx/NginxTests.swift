import Foundation
import Testing

/// Sending to nginx, an independent HTTP implementation.
@Suite struct NginxTests {
    @Test("K1: consecutive batches use one connection, and each has its own key")
    func reuse() async throws {
        try await withNginx { scene, nginx, collector in
            let settings: JSON = ["endpoint": nginx.endpoint("/events"), "dispatch_limit": 10]
            let daemon = try await scene.daemon(sendingTo: collector, settings)
            try await daemon.pause()
            let ids = try await daemon.track(1...300)
            try await daemon.resume()
            try await daemon.dispatcher(until: "all is delivered") { $0["sent"].int == 300 }
            let requests = try await nginx.answered(atLeast: 30)
            #expect(requests.flatMap(\.ids) == ids)
            #expect(requests.count == 30)
            #expect(Set(requests.map(\.connection)).count == 1)
            #expect(Set(requests.map(\.idempotencyKey)).count == 30)
        }
    }

    @Test("K1: the endpoint may be a Unix socket")
    func unixSocket() async throws {
        try await withNginx { scene, nginx, collector in
            let settings: JSON = ["endpoint": "http://collector.example/events", "unix_socket": nginx.socket]
            let daemon = try await scene.daemon(sendingTo: collector, settings)
            let ids = try await daemon.track(1...10)
            try await daemon.dispatcher(until: "all is delivered") { $0["sent"].int == 10 }
            try await eventually("all is in nginx's log") { nginx.answered.flatMap(\.ids) == ids }
        }
    }

    @Test("K1: a gzip body decompresses to the tracked events")
    func gzip() async throws {
        try await withNginx { scene, nginx, collector in
            let settings: JSON = ["endpoint": nginx.endpoint("/kept"), "gzip": true, "format": "ndjson"]
            let daemon = try await scene.daemon(sendingTo: collector, settings)
            try await daemon.pause()
            let ids = try await daemon.track(1...20, data: ["text": "again and again and again"])
            try await daemon.resume()
            try await daemon.dispatcher(until: "all is delivered") { $0["sent"].int == 20 }
            let request = try await nginx.answered(atLeast: 1)[0]
            #expect(request.contentEncoding == "gzip")
            let unpacked = try await CommandLineTool.run(
                program: "/usr/bin/gzip", ["-cd", request.bodyFile], in: daemon.folder)
            let lines = unpacked.output.split(separator: "\n").map(String.init)
            #expect(try lines.map { try JSON(parsing: $0)["id"].string } == ids)
        }
    }

    @Test(
        "D6: client_max_body_size halves batches until they are accepted, and a single larger event is dead-lettered",
        arguments: [false, true])
    func tooLarge(isHTTP2: Bool) async throws {
        try await withNginx { scene, nginx, collector in
            let endpoint = isHTTP2 ? nginx.http2Endpoint("/small") : nginx.endpoint("/small")
            let settings = collector.dispatcher([
                "endpoint": endpoint, "tls": nginx.clientTLS, "dispatch_limit": 8, "byte_limit": 10_000_000,
            ])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings], "collectors": Self.nothing])
            try await daemon.pause()
            try await daemon.track(1...8)
            // The event is so large that nginx answers before most of it is sent.
            try await daemon.track(9...9, data: ["text": .string(String(repeating: "x", count: 600_000))])
            try await daemon.track(10...11)
            try await daemon.resume()
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 10 && $0["dead"].int == 1 }
            let passed = ["e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e10", "e11"]
            try await eventually("all is in nginx's log") { Self.accepted(nginx.answered).flatMap(\.ids) == passed }
            #expect(nginx.answered.prefix(3).map(\.status) == [413, 200, 200])
            #expect(Self.accepted(nginx.answered).prefix(2).map(\.ids.count) == [4, 4])
        }
    }

    @Test("D5: 503 with Retry-After causes at least the requested wait")
    func retryAfter() async throws {
        try await withNginx { scene, nginx, collector in
            let daemon = try await scene.daemon(sendingTo: collector, ["endpoint": nginx.endpoint("/busy")])
            let start = Date()
            try await daemon.track(1...1)
            let waiting = try await daemon.dispatcher(until: "a blocked dispatcher") { $0["state"] == "blocked" }
            #expect(waiting["last_error"] == "HTTP 503")
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            let retryAt = try Date(try #require(waiting["retry_at"].string), strategy: style)
            #expect(retryAt > start + 600 - 0.1)
        }
    }

    @Test("D3, D5: after the 503s end all pending events are delivered once and in order")
    func maintenance() async throws {
        try await withNginx { scene, nginx, collector in
            try nginx.setDown(true)
            let daemon = try await scene.daemon(sendingTo: collector, ["endpoint": nginx.endpoint("/maintained")])
            let ids = try await daemon.track(1...40)
            try await nginx.answered(atLeast: 2)
            try nginx.setDown(false)
            try await daemon.dispatcher(until: "all is delivered") { $0["sent"].int == 40 }
            try await eventually("all is in nginx's log") { Self.accepted(nginx.answered).flatMap(\.ids) == ids }
            #expect(nginx.answered.first?.status == 503)
        }
    }

    @Test("D3: 301 is not followed, and the events stay pending")
    func redirect() async throws {
        try await withNginx { scene, nginx, collector in
            let daemon = try await scene.daemon(sendingTo: collector, ["endpoint": nginx.endpoint("/moved")])
            try await daemon.track(1...1)
            let requests = try await nginx.answered(atLeast: 2)
            #expect(requests.allSatisfy { $0.status == 301 && $0.path == "/moved" })
            #expect(try await daemon.dispatcher().contains(["sent": 0, "dead": 0]))
        }
    }

    /// An answer that nginx sends before it has read a body, with the outcome for the events.
    enum EarlyAnswer: String, CaseIterable {
        case moved, refused, locked

        var status: Int {
            switch self {
            case .moved: 301
            case .refused: 400
            case .locked: 401
            }
        }
    }

    @Test(
        "D3, D7: an answer that comes before a large body is sent counts, over HTTP/1.1 and HTTP/2",
        arguments: EarlyAnswer.allCases, [false, true])
    func early(answer: EarlyAnswer, isHTTP2: Bool) async throws {
        try await withNginx { scene, nginx, collector in
            let index = "/" + answer.rawValue
            let endpoint = isHTTP2 ? nginx.http2Endpoint(index) : nginx.endpoint(index)
            let settings = collector.dispatcher([
                "endpoint": endpoint, "tls": nginx.clientTLS, "byte_limit": 10_000_000,
                // Two events together are more than nginx takes by default, which it answers with 413.
                "dispatch_limit": 1,
            ])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            for number in 1...3 {
                try await daemon.track(
                    number...number, data: ["text": .string(String(repeating: "x", count: 600_000))])
            }
            let state = try await daemon.dispatcher(until: "the answer is reported") { $0["last_error"] != .null }
            #expect(state["last_error"] == .string("HTTP \(answer.status)"))
            if answer == .moved {
                #expect(state.contains(["dead": 0, "sent": 0]))
            } else {
                try await daemon.dispatcher(until: "all events are dead-lettered") { $0["dead"].int == 3 }
                // nginx writes a line after it has closed the connection, and the client has the answer before.
                let statuses = try await nginx.answered(atLeast: 3).map(\.status)
                #expect(statuses == Array(repeating: answer.status, count: 3))
            }
            #expect(!nginx.answered.contains { $0.status == 200 })
        }
    }

    @Test(
        "D3: a whole 2xx that comes before a large body is sent is a delivery, over HTTP/1.1 and HTTP/2",
        arguments: ["/taken", "/silent"], [false, true])
    func earlySuccess(index: String, isHTTP2: Bool) async throws {
        try await withNginx { scene, nginx, collector in
            let endpoint = isHTTP2 ? nginx.http2Endpoint(index) : nginx.endpoint(index)
            let settings = collector.dispatcher([
                "endpoint": endpoint, "tls": nginx.clientTLS, "byte_limit": 10_000_000, "dispatch_limit": 1,
            ])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let text = JSON.string(String(repeating: "x", count: 600_000))
            for number in 1...3 { try await daemon.track(number...number, data: ["text": text]) }
            try await daemon.dispatcher(until: "all is delivered") { $0["sent"].int == 3 && $0["dead"].int == 0 }
        }
    }

    @Test("D3: 502 of a proxy without its server is retried until the server is back")
    func deadUpstream() async throws {
        try await withNginx { scene, nginx, collector in
            let daemon = try await scene.daemon(sendingTo: collector, ["endpoint": nginx.endpoint("/behind")])
            let ids = try await daemon.track(1...5)
            try await daemon.dispatcher(until: "a bad gateway") { $0["last_error"] == "HTTP 502" }
            try collector.listen()
            #expect(try await collector.acceptedIDs(atLeast: 5) == ids)
            try await daemon.dispatcher(until: "all is delivered") { $0["sent"].int == 5 && $0["pending"].int == 0 }
            #expect(collector.acceptedIDs == ids)
        }
    }

    private static func accepted(_ requests: [AccessLogEntry]) -> [AccessLogEntry] {
        requests.filter { $0.status == 200 }
    }

    /// A context without any members, which makes events so small that their number is the limit.
    private static let nothing: JSON = ["peer": false, "client": false, "host": false, "network": false]
}
