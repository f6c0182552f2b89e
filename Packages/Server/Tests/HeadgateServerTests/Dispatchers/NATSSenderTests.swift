import Glibc
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

/// Tests the sender without a server. The end-to-end tests use real servers.
@Suite("Sender to NATS")
struct NATSSenderTests {
    private func settings(_ server: String, _ change: (inout NATSSettings) -> Void = { _ in }) throws -> NATSSettings {
        var settings = NATSSettings(servers: [try NATSServer(server)], subject: "s")
        change(&settings)
        return settings
    }

    /// Returns the address of a port that refuses connections.
    private func closedAddress() throws -> String { "127.0.0.1:\(try TestSocket.unusedPort())" }

    @Test("K4: an attempt without a server fails as unanswered, with a readable cause")
    func refused() async throws {
        try await SenderStage.nats(try settings(closedAddress())) { stage in
            #expect(await stage.send("1", "2") == .noAnswer(cause: "NATS: no server could be reached"))
            let both = await stage.sendTogether([["3"], ["4"]])
            #expect(both == Array(repeating: .noAnswer(cause: "NATS: no server could be reached"), count: 2))
        }
    }

    @Test("X4: unusable credential and certificate files are reported without their content")
    func files() async throws {
        let folder = try ScratchFolder()
        let junk = try folder.write("s3cret", to: "junk")
        for (change, cause) in [
            ({ $0.credentialsFile = "/nowhere" }, "NATS: credentials file not readable"),
            ({ $0.tls = .init(caFile: "/nowhere") }, "TLS: CA file not usable"),
            ({ $0.tls = .init(caFile: junk) }, "TLS: CA file not usable"),
            ({ $0.tls = .init(certFile: junk) }, "TLS: client certificate or key not usable"),
        ] as [((inout NATSSettings) -> Void, String)] {
            try await SenderStage.nats(try settings(closedAddress(), change)) { stage in
                #expect(await stage.send("1") == .noAnswer(cause: cause))
            }
        }
    }

    @Test("A batch to a server that accepts the connection and does not answer ends at its timeout")
    func silent() async throws {
        let server = try TestSocket.loopback()
        defer { close(server) }
        let settings = try settings("127.0.0.1:\(TestSocket.port(of: server))") { $0.timeout = .milliseconds(50) }
        try await SenderStage.nats(settings) { stage in
            #expect(await stage.send("1") == .noAnswer(cause: "timed out"))
        }
    }

    @Test("D11: an interrupted batch has the result `interrupted`, once")
    func interrupted() async throws {
        let server = try TestSocket.loopback()
        defer { close(server) }
        // The interruption must come before the timeout, even on a busy machine.
        let settings = try settings("127.0.0.1:\(TestSocket.port(of: server))") { $0.timeout = .seconds(600) }
        try await SenderStage.nats(settings) { stage in
            let result = await stage.sendAndInterrupt("1")
            #expect(result == .interrupted)
        }
    }
}
