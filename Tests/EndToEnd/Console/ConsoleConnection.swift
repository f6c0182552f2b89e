import Foundation

/// A raw connection to the console that never blocks its thread.
final class ConsoleConnection {
    private var descriptor: Int32
    private var received: [UInt8] = []

    /// Connects to a port of 127.0.0.1.
    init(port: UInt16) async throws {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = try SystemError.check(socket(AF_INET, kind, 0), "socket")
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        // On loopback a connection is established or refused at once.
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        _ = try SystemError.check(code, "connect to port \(port)")
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close() }

    func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Sends a request that asks the console to close the connection. A header with an empty value is not sent.
    func send(_ method: String, _ target: String, _ headers: [String: String], body: String = "") async throws {
        var all = headers
        all["Connection"] = all["Connection"] ?? "close"
        if !body.isEmpty || method == "POST" { all["Content-Length"] = String(body.utf8.count) }
        let lines = all.filter { !$0.value.isEmpty }.map { "\($0): \($1)\r\n" }.joined()
        try await send(text: "\(method) \(target) HTTP/1.1\r\n\(lines)\r\n\(body)")
    }

    /// Sends the text as it is.
    func send(text: String) async throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if sent >= 0 {
                rest = rest.dropFirst(sent)
            } else {
                guard errno == EAGAIN else { throw SystemError("send") }
                _ = await Readiness.shared.untilWritable(descriptor, within: .patience)
            }
        }
    }

    /// Reads until the console closes the connection.
    func everything() async throws -> String {
        while try await more() {}
        return text
    }

    /// Reads until the received text meets a condition.
    func until(_ what: String, _ expected: (String) -> Bool) async throws {
        while !expected(text) {
            guard try await more() else { throw NeverHappened(what, details: "it ended with \(text.suffix(2_000))") }
        }
    }

    /// True if the console has closed the connection. Text that it sent before is discarded.
    var hasEnded: Bool {
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return count == 0 || errno == ECONNRESET }
        }
    }

    /// Discards the received text.
    func forget() {
        received = []
    }

    private var text: String { String(decoding: received, as: UTF8.self) }

    /// Reads the available bytes. Returns false at the end of the stream.
    private func more() async throws -> Bool {
        guard await Readiness.shared.untilReadable(descriptor, within: .patience) else {
            throw NeverHappened("more output of the console", details: "after \(text.suffix(2_000))")
        }
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else {
            guard count == 0 || errno == EAGAIN || errno == ECONNRESET else { throw SystemError("recv") }
            return count < 0 && errno == EAGAIN
        }
        received += chunk[..<count]
        return true
    }
}
