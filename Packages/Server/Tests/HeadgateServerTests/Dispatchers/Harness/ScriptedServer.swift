import Foundation
import HeadgateTransport

/// A real HTTP server with scripted answers, on a free port or a Unix socket. Each connection has a thread.
final class ScriptedServer: Sendable {
    let port: UInt16

    private let listening: Int32
    private let answer: @Sendable (ReceivedRequest) -> ScriptedReply
    private let state = Guarded(State())

    private struct State {
        var requests: [ReceivedRequest] = []
        var connections: [Int32] = []
        var isStopped = false
    }

    init(unixSocket: String? = nil, _ answer: @escaping @Sendable (ReceivedRequest) -> ScriptedReply) throws {
        listening = try unixSocket.map(TestSocket.unix) ?? TestSocket.loopback()
        port = TestSocket.port(of: listening)
        self.answer = answer
        Thread.detachNewThread { self.accept() }
    }

    var url: String { "http://127.0.0.1:\(port)/events" }
    var requests: [ReceivedRequest] { state.withLock { $0.requests } }
    var connectionCount: Int { state.withLock { $0.connections.count } }

    /// Sends an unrequested answer on every connection, and closes the connections.
    func interrupt(saying text: String) {
        for socket in state.withLock({ $0.connections }) {
            _ = TestConnection(socket).send(.last(text))
            shutdown(socket, Int32(SHUT_RDWR))
        }
    }

    func stop() {
        let open = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        for socket in open + [listening] { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    private func accept() {
        while true {
            let socket = Glibc.accept(listening, nil, nil)
            guard socket >= 0 else { break }
            let number = state.withLock { state -> Int? in
                guard !state.isStopped else { return nil }
                state.connections.append(socket)
                return state.connections.count - 1
            }
            guard let number else { break }
            Thread.detachNewThread { self.serve(TestConnection(socket), number) }
        }
        close(listening)
    }

    private func serve(_ connection: TestConnection, _ number: Int) {
        while let request = connection.request(number) {
            state.withLock { $0.requests.append(request) }
            guard connection.send(answer(request)) else { break }
        }
        // The socket is not closed here: `stop` may still use its descriptor, which must not be reused before.
        shutdown(connection.socket, Int32(SHUT_RDWR))
    }
}

/// A server's reaction to a request.
enum ScriptedReply: Sendable {
    /// Sends these bytes and keeps the connection.
    case bytes(String)
    /// Sends these bytes and closes the connection.
    case last(String)
    /// Sends bytes that need not be UTF-8 and keeps the connection.
    case raw([UInt8])
    /// Sends the first text, and then the second one repeatedly until the client disconnects.
    case endless(String, again: String)
    /// Sends nothing until the client disconnects.
    case silence

    static func status(_ line: String, headers: [String] = [], body: String = "") -> ScriptedReply {
        let length = "Content-Length: \(body.utf8.count)"
        return .bytes((["HTTP/1.1 \(line)", length] + headers).joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    static let ok = ScriptedReply.status("200 OK")
}

/// A request as the server received it.
struct ReceivedRequest: Sendable {
    var method: String
    var target: String
    /// The headers by lower-case name.
    var headers: [String: String]
    var body: [UInt8]
    /// The connection's index in order of arrival, from 0.
    var connection: Int

    var text: String {
        String(decoding: body, as: UTF8.self)
    }

    /// Reads the head of a request. Returns nil if it is incomplete.
    init?(head bytes: [UInt8], connection: Int) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        var lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        let parts = lines.removeFirst().split(separator: " ")
        guard parts.count == 3 else { return nil }
        method = String(parts[0])
        target = String(parts[1])
        headers = [:]
        body = []
        self.connection = connection
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            let name = line[..<colon].lowercased()
            // The values of a repeated header are joined.
            headers[name] = headers[name].map { "\($0), \(value)" } ?? value
        }
    }
}

/// A decompressing command-line program. Tests use it instead of Headgate's own decompression.
enum MachineDecoder: String {
    case gzip = "gz"
    case zstd = "zst"

    func decompressed(_ bytes: [UInt8]) throws -> String {
        let folder = try ScratchFolder()
        let file = folder("body.\(rawValue)")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        let program = self == .gzip ? ["/bin/gzip"] : ["/usr/bin/zstd", "-q"]
        try MachineProgram(program + ["-d", file]).waitUntilEnd()
        return folder.text(of: "body") ?? ""
    }
}
