import Glibc
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

/// Tests the sender without brokers. The end-to-end tests use a mock cluster.
@Suite("Sender to Kafka", .timeLimit(.minutes(5)))
struct KafkaSenderTests {
    private func settings(
        _ broker: String, _ change: (inout KafkaSettings) -> Void = { _ in }
    ) throws -> KafkaSettings {
        var settings = KafkaSettings(brokers: [try KafkaBroker(broker)], topic: "t")
        change(&settings)
        return settings
    }

    /// Returns the address of a port that refuses connections.
    private func closedAddress() throws -> String { "127.0.0.1:\(try TestSocket.unusedPort())" }

    @Test("K6: each attempt without a broker fails as unanswered, with a readable cause")
    func refused() async throws {
        try await SenderStage.kafka(try settings(closedAddress())) { stage in
            for _ in 1...2 {
                #expect(await stage.send("{}", "{}") == .noAnswer(cause: "Kafka: no broker could be reached"))
            }
        }
    }

    @Test("X4: unusable credential and certificate files are reported without their content")
    func files() async throws {
        let folder = try ScratchFolder()
        let junk = try folder.write("s3cret", to: "junk")
        let empty = try folder.write("\n", to: "empty")
        var (missing, unusable) = (KafkaSettings.SASL(), KafkaSettings.SASL())
        (missing.user, missing.passwordFile) = ("u", "/nowhere")
        (unusable.user, unusable.passwordFile) = ("u", empty)
        for (change, cause) in [
            ({ $0.sasl = missing }, "Kafka: password file not readable"),
            ({ $0.sasl = unusable }, "Kafka: password file not usable"),
            ({ $0.tls = .init(caFile: "/nowhere") }, "TLS: CA file not usable"),
            ({ $0.tls = .init(caFile: junk) }, "TLS: CA file not usable"),
            ({ $0.tls = .init(certFile: junk) }, "TLS: client certificate or key not usable"),
        ] as [((inout KafkaSettings) -> Void, String)] {
            try await SenderStage.kafka(try settings(closedAddress(), change)) { stage in
                #expect(await stage.send("{}") == .noAnswer(cause: cause))
            }
        }
    }

    @Test("K6: a broker whose certificate is not trusted is reported", .enabled(if: TLSServer.isAvailable))
    func untrusted() async throws {
        let server = try TLSServer()
        defer { server.stop() }
        let settings = try settings("localhost:\(server.port)") { $0.tls = .init() }
        try await SenderStage.kafka(settings) { stage in
            let result = await stage.send("{}")
            #expect(result == .noAnswer(cause: "TLS: certificate not trusted"))
        }
    }

    @Test("A batch to a broker that accepts the connection and does not answer ends at its timeout")
    func silent() async throws {
        let server = try TestSocket.loopback()
        defer { close(server) }
        let settings = try settings("127.0.0.1:\(TestSocket.port(of: server))") { $0.timeout = .milliseconds(50) }
        try await SenderStage.kafka(settings) { stage in
            #expect(await stage.send("{}") == .noAnswer(cause: "timed out"))
        }
    }

    @Test("D11: an interrupted batch has the result `interrupted`, once")
    func interrupted() async throws {
        let server = try TestSocket.loopback()
        defer { close(server) }
        try await SenderStage.kafka(try settings("127.0.0.1:\(TestSocket.port(of: server))")) { stage in
            let result = await stage.sendAndInterrupt("{}")
            #expect(result == .interrupted)
        }
    }
}
