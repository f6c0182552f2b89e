import Foundation

/// An `openssl s_server` process with a self-signed certificate for `localhost`. It answers one request with HTTP 200.
final class TLSServer: Sendable {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    /// The path of the server's self-signed certificate, which is also its CA file.
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
        // Only the program has the pipe's writing end now, so the pipe ends with the program.
        try output.fileHandleForWriting.close()
        port = try Self.port(in: output.fileHandleForReading)
        Thread.detachNewThread { Self.answer(output.fileHandleForReading, input.fileHandleForWriting) }
    }

    /// The path of the certificate's private key.
    var key: String { folder("key.pem") }

    func stop() {
        program.stop()
    }

    /// Returns the port in a line like `ACCEPT 127.0.0.1:4433`.
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

    /// Answers one request: the program copies the client's data to `output`, and `input` to the client.
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

/// A child process that a test starts, with only its standard streams open and no signal blocked.
///
/// `Foundation.Process` is not used: its children inherit the signals that the thread blocks. With more than a thousand
/// open files, as in tests of many connections, `Process` also reads past the end of a directory's entries.
final class MachineProgram: Sendable {
    private let identifier: pid_t

    /// Starts the program.
    /// - Parameters:
    ///   - words: the path and the arguments.
    ///   - input: the standard input, or nil for none.
    ///   - output: the standard output, or nil to drop it. Standard error is dropped.
    init(_ words: [String], input: FileHandle? = nil, output: FileHandle? = nil) throws {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        var noSignals = sigset_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (stream, handle) in [input, output, nil].enumerated() {
            let number = Int32(stream)
            if let handle { posix_spawn_file_actions_adddup2(&actions, handle.fileDescriptor, number) }
            if handle == nil { posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0) }
        }
        for other in Int32(3)..<4_096 { posix_spawn_file_actions_addclose(&actions, other) }
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let pointers = words.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        var identifier = pid_t()
        let code = posix_spawn(&identifier, words[0], &actions, &attributes, pointers + [nil], environ)
        guard code == 0 else { throw TestSocket.Failure(operation: "start \(words[0])") }
        self.identifier = identifier
    }

    func waitUntilEnd() {
        while waitpid(identifier, nil, 0) < 0, errno == EINTR {}
    }

    /// Kills the program.
    func stop() {
        kill(identifier, SIGKILL)
        waitUntilEnd()
    }
}
