import Foundation
import Testing

/// Authentication of the producer and of the brokers.
@Suite struct KafkaSecurityTests {
    @Test("K6: with TLS and a private CA, brokers without its certificate get nothing")
    func authority() async throws {
        try await withScene { scene in
            let certificates = try await Certificates(in: scene.directory.path)
            let guardian = try await scene.kafkaGuard(serving("server", certificates))
            let daemon = try await scene.daemon(["dispatchers": ["collect": guardian.dispatcher(["tls": [:]])]])
            let ids = try await daemon.track(1...3)
            try await daemon.expectFailure("TLS: certificate not trusted")
            try await daemon.set(["dispatchers": ["collect": ["tls": ["ca_file": .string(certificates.authority)]]]])
            try await expect(ids, at: guardian, from: daemon)
        }
    }

    @Test("K6: a broker with another host's certificate gets nothing")
    func otherHost() async throws {
        try await withScene { scene in
            let certificates = try await Certificates(in: scene.directory.path)
            let guardian = try await scene.kafkaGuard(serving("client", certificates))
            let settings = guardian.dispatcher(["tls": ["ca_file": .string(certificates.authority)]])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await daemon.track(1...3)
            try await daemon.expectFailure("TLS: certificate not trusted")
            #expect(try await guardian.cluster.messages().isEmpty)
        }
    }

    @Test(
        "K6: brokers get the client's certificate on request, and without one they get nothing",
        arguments: [true, false])
    func clientCertificate(keyApart: Bool) async throws {
        try await withScene { scene in
            let certificates = try await Certificates(in: scene.directory.path)
            let asking = ["--authority", certificates.authority]
            let guardian = try await scene.kafkaGuard(serving("server", certificates) + asking)
            let settings = guardian.dispatcher(["tls": ["ca_file": .string(certificates.authority)]])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let ids = try await daemon.track(1...3)
            // The proxy closes the connection without an answer.
            try await daemon.expectFailure("Kafka: no broker could be reached")
            let (certificate, key) = (certificates.certificate(of: "client"), certificates.key(of: "client"))
            let both = try [certificate, key].map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
            let tls: JSON = try [
                "cert_file": .string(keyApart ? certificate : scene.directory.write(both, to: "both.pem")),
                "key_file": keyApart ? .string(key) : .null,
            ]
            try await daemon.set(["dispatchers": ["collect": ["tls": tls]]])
            try await expect(ids, at: guardian, from: daemon)
            #expect(guardian.notes.contains("let in: till-7"))
        }
    }

    @Test("D9, K6: over TLS unavailable brokers are reported, and pending events are delivered when they are back")
    func away() async throws {
        try await withScene { scene in
            let certificates = try await Certificates(in: scene.directory.path)
            let guardian = try await scene.kafkaGuard(serving("server", certificates))
            let tls: JSON = ["ca_file": .string(certificates.authority)]
            let settings = guardian.dispatcher(["tls": tls, "timeout_ms": 1_000, "max_attempts": 1])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let ids = try await daemon.track(1...3)
            try await daemon.dispatcher(until: "the first are settled") { $0["sent"] == 3 }
            guardian.kill()
            let more = try await daemon.track(4...6)
            let waiting = try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(waiting.contains(["last_error": "Kafka: no broker could be reached", "sent": 3, "dead": 0]))
            try await guardian.start()
            try await expect(ids + more, at: guardian, from: daemon)
        }
    }

    @Test(
        "K6, X4: a wrong password is reported without charge, and the right one is used and never shown",
        arguments: [("PLAIN", true), ("SCRAM-SHA-256", true), ("SCRAM-SHA-512", true), ("SCRAM-SHA-512", false)])
    func login(mechanism: String, encrypted: Bool) async throws {
        try await withScene { scene in
            let certificates = try await Certificates(in: scene.directory.path)
            let guardian = try await scene.kafkaGuard(
                (encrypted ? serving("server", certificates) : []) + ["--user", "till,=1", "--password", "s3cret,=ü"])
            let tls: JSON = encrypted ? ["tls": ["ca_file": .string(certificates.authority)]] : [:]
            let sasl = try sasl(mechanism, user: "till,=1", "s3cret, but wrong", in: scene)
            let daemon = try await scene.daemon([
                "dispatchers": ["collect": guardian.dispatcher(tls.merging(["sasl": sasl, "max_attempts": 1]))]
            ])
            let ids = try await daemon.track(1...3)
            try await daemon.expectFailure("Kafka: authentication failed")
            #expect(guardian.notes.allSatisfy { ["ready", "refused: \(mechanism)"].contains($0) })
            try scene.directory.write("s3cret,=ü\n", to: "password")
            try await expect(ids, at: guardian, from: daemon)
            #expect(guardian.notes.contains("let in: \(mechanism)"))
            try await daemon.stop(havingHidden: "s3cret")
        }
    }

    @Test("D7, K6: with on_unauthorized a wrong password blocks the dispatcher until it is resumed")
    func held() async throws {
        try await withScene { scene in
            let guardian = try await scene.kafkaGuard(["--user", "till-1", "--password", "right"])
            let sasl = try sasl("SCRAM-SHA-256", user: "till-1", "wrong", in: scene)
            let settings = guardian.dispatcher(["sasl": sasl, "on_unauthorized": "pause"])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let ids = try await daemon.track(1...3)
            try await daemon.expectFailure("Kafka: authentication failed")
            try await daemon.dispatcher(until: "the dispatcher is blocked") {
                $0["blocked_by"].description.contains("ManualBarrier:collect")
            }
            try scene.directory.write("right", to: "password")
            try await daemon.resume()
            try await expect(ids, at: guardian, from: daemon)
        }
    }

    /// Returns options for a proxy with TLS.
    private func serving(_ name: String, _ certificates: Certificates) -> [String] {
        ["--certificate", certificates.certificate(of: name), "--key", certificates.key(of: name)]
    }

    /// Returns settings for a login with a password, which is written to the scene's file `password`.
    private func sasl(
        _ mechanism: String, user: String, _ password: String, in scene: Scene
    ) throws -> JSON {
        let file = try scene.directory.write(password, to: "password")
        return ["mechanism": .string(mechanism), "user": .string(user), "password_file": .string(file)]
    }

    private func expect(_ ids: [String], at guardian: KafkaGuard, from daemon: Daemon) async throws {
        try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == ids.count }
        #expect(try await guardian.cluster.messages().compactMap(\.id).sorted() == ids)
    }
}
