import Foundation
import Testing

/// The right to publish, and the protection of credentials.
@Suite struct NATSSecurityTests {
    private static let users = """
        authorization { users: [
          {user: shop, password: "s3cret@pass"},
          {user: reader, password: "other", permissions: {publish: ["$JS.API.>"]}}
        ] }
        """
    private static let login: JSON = ["user": "shop", "pass": "s3cret@pass"]

    @Test("X4: a wrong password is reported without charge, and a right one is used and never shown")
    func passwords() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode([Self.users])
            try await node.createStream(login: Self.login)
            let wrong = url(node, "shop:s3cret-but-wrong")
            let daemon = try await scene.daemon([
                "dispatchers": ["collect": node.dispatcher(["servers": [.string(wrong)], "max_attempts": 1])]
            ])
            let ids = try await daemon.track(1...3)
            try await daemon.expectFailure("NATS: authorization violation")
            try await daemon.set(["dispatchers": ["collect": ["servers": [.string(url(node, "shop:s3cret%40pass"))]]]])
            #expect(try await node.messages(atLeast: 3, login: Self.login).map(\.id) == ids)
            try await daemon.stop(havingHidden: "s3cret")
        }
    }

    @Test("K4: a missing permission to publish is reported at once, not after a timeout")
    func notPermitted() async throws {
        try await withScene { scene in
            let node = try await scene.natsNode([Self.users])
            try await node.createStream(login: Self.login)
            let settings = node.dispatcher(["servers": [.string(url(node, "reader:other"))], "timeout_ms": 100_000])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await daemon.track(1...1)
            try await daemon.expectFailure("NATS: permissions violation")
        }
    }

    @Test("K4: the permissions in Docs/Operations.md are sufficient")
    func leastPermissions() async throws {
        try await withScene { scene in
            let permissions = """
                authorization { users: [
                  {user: admin, password: x},
                  {user: till, password: y, permissions: {
                    publish: ["shop.events", "$JS.API.STREAM.INFO.EVENTS"], subscribe: ["_INBOX.>"]}}
                ] }
                """
            let admin: JSON = ["user": "admin", "pass": "x"]
            let node = try await scene.natsNode([permissions])
            try await node.createStream(login: admin)
            let settings = node.dispatcher(["servers": [.string(url(node, "till:y"))]])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let ids = try await daemon.track(1...3)
            #expect(try await node.messages(atLeast: 3, login: admin).map(\.id) == ids)
            #expect(try await daemon.dispatcher(until: "they are settled") { $0["sent"] == 3 }["last_error"] == .null)
        }
    }

    @Test("K4, X4: a missing credentials file is reported, and an existing one is used and never shown")
    func credentials() async throws {
        try await withScene { scene in
            let (configuration, user) = try await decentralisedLogins(in: scene.directory)
            let node = try await scene.natsNode(configuration)
            let file = scene.directory.path("shop.creds")
            let settings = node.dispatcher(["credentials_file": .string(file), "create_stream": true])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            #expect(try await daemon.warnings().contains { $0.contains("collect.credentials_file") })
            try await daemon.track(1...3)
            try await daemon.dispatcher(until: "the missing file is reported") {
                $0["last_error"] == "NATS: credentials file not readable"
            }
            try scene.directory.write(user.credentials, to: "shop.creds")
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 3 }
            #expect(try await daemon.stop() == 0)
            #expect(!daemon.log.contains(user.seed) && !daemon.log.contains("eyJ"))
        }
    }

    @Test("K4: TLS works with a private CA and a client certificate, and without them the error is reported")
    func encrypted() async throws {
        try await withScene { scene in
            let certificates = try await Certificates(in: scene.directory.path)
            let node = try await scene.natsNode()
            try await node.createStream()
            try await restart(node, with: tls(certificates, trusting: certificates.authority))
            let url = JSON.string("tls://localhost:\(node.port.number)")
            let daemon = try await scene.daemon(["dispatchers": ["collect": node.dispatcher(["servers": [url]])]])
            let ids = try await daemon.track(1...3)
            try await daemon.expectFailure("TLS: certificate not trusted")
            let authority: JSON = ["ca_file": .string(certificates.authority)]
            try await daemon.set(["dispatchers": ["collect": ["tls": authority]]])
            try await daemon.dispatcher(until: "a certificate is missing") {
                $0["last_error"] == "TLS: the server ended the connection; it may require a client certificate"
            }
            let tls: JSON = [
                "ca_file": .string(certificates.authority),
                "cert_file": .string(certificates.certificate(of: "client")),
                "key_file": .string(certificates.key(of: "client")),
            ]
            try await daemon.set(["dispatchers": ["collect": ["tls": tls]]])
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 3 }
            // The test reads the stream without TLS.
            try await restart(node, with: [])
            #expect(try await node.messages(atLeast: 3).map(\.id) == ids)
        }
    }

    @Test("K4: a renewed client certificate is used without a restart after the server has refused the former one")
    func renewed() async throws {
        try await withScene { scene in
            let former = try await Certificates(in: scene.directory.path)
            let folder = scene.directory.path("renewed")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let renewed = try await Certificates(in: folder)
            let node = try await scene.natsNode()
            try await node.createStream()
            try await restart(node, with: tls(former, trusting: former.authority))
            let files: JSON = [
                "ca_file": .string(former.authority), "cert_file": .string(try clientFile(former, in: scene)),
            ]
            let settings = node.dispatcher(["servers": [.string("tls://localhost:\(node.port.number)")], "tls": files])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let ids = try await daemon.track(1...3)
            try await daemon.dispatcher(until: "the first are settled") { $0["sent"] == 3 }

            try await restart(node, with: tls(former, trusting: renewed.authority))
            let more = try await daemon.track(4...6)
            try await daemon.dispatcher(until: "the former certificate is refused") {
                $0["last_error"] == "TLS: the server ended the connection; it may not accept the client certificate"
            }
            _ = try clientFile(renewed, in: scene)
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 6 }
            try await restart(node, with: [])
            #expect(try await node.messages(atLeast: 6).map(\.id) == ids + more)
        }
    }

    /// Returns a server configuration with TLS that requires client certificates of an authority.
    private func tls(_ certificates: Certificates, trusting authority: String) -> [String] {
        let (certificate, key) = (certificates.certificate(of: "server"), certificates.key(of: "server"))
        return [
            "tls {", "cert_file: \"\(certificate)\"", "key_file: \"\(key)\"", "ca_file: \"\(authority)\"",
            "verify: true", "}",
        ]
    }

    private func restart(_ node: NATSNode, with configuration: [String]) async throws {
        try await node.stop()
        node.configuration = configuration
        try await node.start()
    }

    /// Writes a client's certificate and key into the scene's file `client-both.pem`.
    private func clientFile(_ certificates: Certificates, in scene: Scene) throws -> String {
        let parts = [certificates.certificate(of: "client"), certificates.key(of: "client")]
        let text = try parts.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
        return try scene.directory.write(text, to: "client-both.pem")
    }

    private static let limits: JSON = [
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
    ]
    private static let storageLimits: JSON = ["mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1]

    private static func account(_ limits: JSON) -> JSON {
        ["type": "account", "limits": limits]
    }

    /// Returns a server configuration with an operator and an account, and a user of that account.
    private func decentralisedLogins(
        in directory: TemporaryDirectory
    ) async throws -> (configuration: [String], user: (credentials: String, seed: String)) {
        let top = try await NATSKey(.operator, "operator", in: directory)
        let system = try await NATSKey(.account, "system", in: directory)
        let account = try await NATSKey(.account, "account", in: directory)
        let user = try await NATSKey(.user, "user", in: directory)
        let userJWT = try await account.jwt(
            about: user.publicText, ["type": "user", "subs": -1, "data": -1, "payload": -1])
        let topJWT = try await top.jwt(about: top.publicText, ["type": "operator"])
        let accountJWT = try await top.jwt(
            about: account.publicText, Self.account(Self.limits.merging(Self.storageLimits)))
        let systemJWT = try await top.jwt(about: system.publicText, Self.account(Self.limits))
        let configuration = [
            "operator: \"\(topJWT)\"", "resolver: MEMORY", "system_account: \(system.publicText)",
            "resolver_preload: {", "\(account.publicText): \"\(accountJWT)\"",
            "\(system.publicText): \"\(systemJWT)\"", "}",
        ]
        let credentials = """
            -----BEGIN NATS USER JWT-----
            \(userJWT)
            ------END NATS USER JWT------
            -----BEGIN USER NKEY SEED-----
            \(user.seedText)
            ------END USER NKEY SEED------
            """
        return (configuration, (credentials, user.seedText))
    }

    private func url(_ node: NATSNode, _ userInfo: String) -> String {
        "nats://\(userInfo)@127.0.0.1:\(node.port.number)"
    }
}
