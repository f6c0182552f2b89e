import Foundation
import HeadgateCore
import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests requests over TLS.
@Suite("http dispatcher: TLS", .timeLimit(.minutes(5)), .enabled(if: TLSServer.isAvailable))
struct HTTPTLSTests {
    private func send(
        to server: TLSServer, host: String = "localhost", _ tls: HTTPSettings.TLS
    ) async throws -> SendResult {
        let settings = HTTPSettings(endpoint: "https://\(host):\(server.port)/", timeout: .seconds(20), tls: tls)
        // Unsafe: the stage sets the variable before its call returns, and the test reads it after that.
        nonisolated(unsafe) var result = SendResult.interrupted
        try await SenderStage.http(settings) { result = await $0.send("{}") }
        return result
    }

    @Test("K1: a server whose certificate the settings' CA file signed is trusted")
    func trusted() async throws {
        let server = try TLSServer()
        defer { server.stop() }
        #expect(try await send(to: server, .init(caFile: server.certificate)) == .delivered)
    }

    @Test("K1: a server with a self-signed certificate is not trusted")
    func untrusted() async throws {
        let server = try TLSServer()
        defer { server.stop() }
        #expect(try await send(to: server, .init()) == .noAnswer(cause: "TLS: certificate not trusted"))
    }

    @Test("K1: a certificate for another name is not trusted")
    func otherName() async throws {
        let server = try TLSServer()
        defer { server.stop() }
        let result = try await send(to: server, host: "127.0.0.1", .init(caFile: server.certificate))
        #expect(result == .noAnswer(cause: "TLS: certificate not trusted"))
    }

    @Test(
        "S1: the server of remote settings is trusted if the settings name its CA file, and not without it",
        arguments: [true, false])
    func remoteSettings(isTrusted: Bool) async throws {
        let server = try TLSServer()
        defer { server.stop() }
        let lines = Guarded<[LoggedLine]>([])
        var remote: DataObject = ["url": .string("https://localhost:\(server.port)/")]
        if isTrusted { remote["tls"] = ["ca_file": .string(server.certificate)] }
        let adding: ServiceStage.Adding = { $0.onLog = { line in lines.withLock { $0.append(line) } } }
        try await ServiceStage.run(["remote": .object(remote)], adding: adding) { stage in
            let copy = stage.folder("data/remote-settings.json")
            try await stage.until { _ in
                let kinds = lines.withLock { $0.map(\.kind) }
                return access(copy, F_OK) == 0 || kinds.contains("remote_failed") || kinds.contains("remote_refused")
            }
        }
        let isUntrusted = lines.withLock { $0.contains { $0.message.contains("certificate not trusted") } }
        #expect(isUntrusted != isTrusted)
    }

    @Test("K1: the client certificate is sent to a server that requests one")
    func clientCertificate() async throws {
        let server = try TLSServer(asksForClientCertificate: true)
        defer { server.stop() }
        let tls = HTTPSettings.TLS(caFile: server.certificate, certFile: server.certificate, keyFile: server.key)
        #expect(try await send(to: server, tls) == .delivered)
    }

    @Test("K1: missing certificate and key files are reported")
    func missingFiles() async throws {
        let server = try TLSServer()
        defer { server.stop() }
        let noCA = try await send(to: server, .init(caFile: "/nowhere/ca.pem"))
        #expect(noCA == .noAnswer(cause: "TLS: CA file not usable"))
        let noKey = HTTPSettings.TLS(caFile: server.certificate, certFile: "/nowhere/c.pem", keyFile: "/nowhere/k.pem")
        #expect(try await send(to: server, noKey) == .noAnswer(cause: "TLS: client certificate or key not usable"))
    }

    @Test("K1: connect_timeout_ms includes the TLS handshake, even if the request's timeout is longer")
    func silentHandshake() async throws {
        let listening = try TestSocket.loopback()
        defer { close(listening) }
        let settings = HTTPSettings(
            endpoint: "https://127.0.0.1:\(TestSocket.port(of: listening))/", timeout: .seconds(600),
            connectTimeout: .milliseconds(200))
        try await SenderStage.http(settings) { stage in
            #expect(await stage.send("{}") == .noAnswer(cause: "timed out"))
        }
    }

    @Test("D9: a server that does not speak TLS is reported")
    func noTLS() async throws {
        let listening = try TestSocket.loopback()
        defer { close(listening) }
        Thread.detachNewThread {
            let connection = TestConnection(accept(listening, nil, nil))
            _ = connection.send(.last("HTTP/1.1 400 No\r\n\r\n"))
            shutdown(connection.socket, Int32(SHUT_RDWR))
        }
        let settings = HTTPSettings(endpoint: "https://127.0.0.1:\(TestSocket.port(of: listening))/")
        try await SenderStage.http(settings) { stage in
            #expect(await stage.send("{}") == .noAnswer(cause: "TLS: handshake failed"))
        }
    }
}
