import Foundation

/// `openssl s_server` with a certificate of its own making for `localhost`. It answers one request with 200.
final class TLSServer: Sendable {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    /// Its certificate, which is its own authority.
    let certificate: String
    let port: UInt16

    private let folder: ScratchFolder
    private let program: MachineProgram

    init(asksForClientCertificate: Bool = false) throws {
        folder = try ScratchFolder()
        certificate = folder("cert.pem")
        let certificate = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        let names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        let files = ["-keyout", folder("key.pem"), "-out", folder("cert.pem")]
        try MachineProgram(["/usr/bin/openssl", "req"] + certificate + names + files).waitUntilEnd()
        var serving = ["/usr/bin/openssl", "s_server", "-accept", "127.0.0.1:0"]
        serving += ["-key", folder("key.pem"), "-cert", folder("cert.pem")]
        let asking = ["-Verify", "1", "-verify_return_error", "-CAfile", folder("cert.pem")]
        if asksForClientCertificate { serving += asking }
        let (input, output) = (Pipe(), Pipe())
        program = try MachineProgram(
            serving, input: input.fileHandleForReading, output: output.fileHandleForWriting)
        // Its end of the pipe is the only one, so that the pipe ends with it.
        try output.fileHandleForWriting.close()
        port = try Self.port(in: output.fileHandleForReading)
        Thread.detachNewThread { Self.answer(output.fileHandleForReading, input.fileHandleForWriting) }
    }

    /// The certificate's key.
    var key: String { folder("key.pem") }

    func stop() {
        program.stop()
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
