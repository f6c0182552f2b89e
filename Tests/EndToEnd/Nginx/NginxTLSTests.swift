import Testing

/// Sending to nginx over TLS.
@Suite struct NginxTLSTests {
    @Test("K1: TLS with a private CA and a client certificate, over HTTP/2 if the server supports it")
    func http2() async throws {
        try await withNginx { scene, nginx, collector in
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "new": collector.dispatcher(["endpoint": nginx.http2Endpoint("/events"), "tls": nginx.clientTLS]),
                    "old": collector.dispatcher(["endpoint": nginx.tlsEndpoint("/events"), "tls": nginx.clientTLS]),
                ]
            ])
            // Events that arrive while a batch is in flight share the next batch, so the number of batches varies.
            for number in 1...20 { try await daemon.track(number...number) }
            for id in ["new", "old"] {
                try await daemon.dispatcher(id, until: "all is delivered") { $0["sent"].int == 20 }
            }
            let requests = try await nginx.answered(events: 40)
            for name in ["HTTP/2.0", "HTTP/1.1"] {
                let ofProtocol = requests.filter { $0.protocolName == name }
                #expect(ofProtocol.flatMap(\.ids) == (1...20).map { "e\($0)" })
                #expect(ofProtocol.allSatisfy { $0.status == 200 && $0.clientName == "CN=till-7" })
                #expect(Set(ofProtocol.map(\.connection)).count == 1)
            }
        }
    }

    @Test("K1: concurrent batches share one HTTP/2 connection, and each gets its own answer")
    func multiplexing() async throws {
        try await withNginx { scene, nginx, collector in
            let settings: JSON = [
                "endpoint": nginx.http2Endpoint("/events"), "tls": nginx.clientTLS, "in_flight": 4, "dispatch_limit": 5,
            ]
            let daemon = try await scene.daemon(sendingTo: collector, settings)
            try await daemon.track(1...1)
            try await daemon.dispatcher(until: "the first is delivered") { $0["sent"].int == 1 }
            try await daemon.pause()
            try await daemon.track(2...101)
            try await daemon.resume()
            try await daemon.dispatcher(until: "all are delivered") { $0["sent"].int == 101 }
            let requests = try await nginx.answered(atLeast: 21)
            #expect(Set(requests.flatMap(\.ids)).count == 101)
            #expect(Set(requests.map(\.connection)).count == 1)
        }
    }

    @Test(
        "K1: without a client certificate the batch is refused, and after correcting the settings the events are sent")
    func withoutClientCertificate() async throws {
        try await withNginx { scene, nginx, collector in
            let ca: JSON = ["ca_file": .string(nginx.certificates.authority)]
            // nginx answers 400 to that, which is final unless the settings say otherwise.
            let settings = collector.dispatcher([
                "endpoint": nginx.http2Endpoint("/events"), "tls": ca, "retry_for_status_codes": ["400": true],
            ])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await daemon.track(1...2)
            try await daemon.dispatcher(until: "the refusal is reported") { $0["last_error"] == "HTTP 400" }
            try await daemon.reload(["dispatchers": ["collect": settings.merging(["tls": nginx.clientTLS])]])
            try await daemon.dispatcher(until: "all is delivered") { $0["sent"].int == 2 && $0["dead"].int == 0 }
        }
    }

    @Test("K1, D9: a server with an untrusted certificate gets nothing, and the events stay pending")
    func untrusted() async throws {
        try await withNginx { scene, nginx, collector in
            let daemon = try await scene.daemon(sendingTo: collector, ["endpoint": nginx.http2Endpoint("/events")])
            try await daemon.track(1...2)
            let waiting = try await daemon.dispatcher(until: "the error is reported") { $0["last_error"] != .null }
            #expect(waiting.contains(["last_error": "TLS: certificate not trusted", "sent": 0, "dead": 0]))
            #expect(nginx.answered.allSatisfy { $0.status != 200 })
        }
    }
}
