import Foundation
import Synchronization

/// `openssl s_server` with a certificate of its own making for `localhost`. It answers one request with 200.
final class TLSServer: Sendable {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    /// Its certificate, which is its own authority.
    let certificate: String
    let port: UInt16

    private let folder: ScratchFolder
    private let process: Process

    init(asksForClientCertificate: Bool = false) throws {
        folder = try ScratchFolder()
        certificate = folder("cert.pem")
        let certificate = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        let names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        let files = ["-keyout", folder("key.pem"), "-out", folder("cert.pem")]
        let making = try Self.start(["req"] + certificate + names + files, Pipe(), Pipe())
        making.waitUntilExit()
        var serving = ["s_server", "-accept", "127.0.0.1:0", "-key", folder("key.pem"), "-cert", folder("cert.pem")]
        let asking = ["-Verify", "1", "-verify_return_error", "-CAfile", folder("cert.pem")]
        if asksForClientCertificate { serving += asking }
        let (input, output) = (Pipe(), Pipe())
        process = try Self.start(serving, input, output)
        port = try Self.port(in: output.fileHandleForReading)
        Thread.detachNewThread { Self.answer(output.fileHandleForReading, input.fileHandleForWriting) }
    }

    /// The certificate's key.
    var key: String { folder("key.pem") }

    func stop() {
        // It inherits blocked signals; this one cannot be.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static func start(_ arguments: [String], _ input: Pipe, _ output: Pipe) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    /// From the line `ACCEPT 127.0.0.1:4433`.
    private static func port(in output: FileHandle) throws -> UInt16 {
        var text = ""
        while case let piece = output.availableData, !piece.isEmpty {
            text += String(decoding: piece, as: UTF8.self)
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT ") }), text.hasSuffix("\n")
            else { continue }
            if let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) { return port }
        }
        throw TestSocket.Failure(operation: "openssl s_server")
    }

    /// What the client says comes out of the server's output, and what goes into its input is said to the client.
    private static func answer(_ output: FileHandle, _ input: FileHandle) {
        var text = ""
        while case let piece = output.availableData, !piece.isEmpty {
            text += String(decoding: piece, as: UTF8.self)
            guard text.contains("{}") else { continue }
            try? input.write(contentsOf: Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
            text = ""
        }
    }
}
