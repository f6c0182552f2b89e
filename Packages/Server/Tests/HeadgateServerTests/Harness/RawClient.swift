import Glibc
import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// A client's end of a connection, with non-blocking calls. When a call returns, the kernel has the data. The client
/// can disconnect in every way that a process can.
final class RawClient {
    private var descriptor: Int32
    private var unsent: ArraySlice<UInt8> = []
    private var partial: [UInt8] = []
    /// True if the service has closed its end.
    private(set) var isAtEnd = false

    private static let atOnce = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)

    /// Makes a connection that the service accepts at once. Call it on the service's loop.
    init(of service: Service) throws {
        var ends: [Int32] = [0, 0]
        let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
        guard result == 0 else { throw Missing(what: "a pair of sockets") }
        descriptor = ends[0]
        guard let loop = service.loop else { throw Missing(what: "an event loop") }
        service.accept(try Connection(fileDescriptor: ends[1], on: loop))
    }

    /// Connects to the service's socket.
    init(connectingTo path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else { throw Missing(what: "a connection to \(path)") }
    }

    deinit { close() }

    /// Closes both directions of the connection.
    func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Closes the sending side. Answers still arrive.
    func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    // MARK: Sending

    /// Sends a text repeatedly until the socket's buffer is full.
    func fill(with text: String) {
        while true {
            if unsent.isEmpty { unsent = Array(text.utf8)[...] }
            let count = offer(unsent)
            guard count > 0 else { return }
            unsent = unsent.dropFirst(count)
        }
    }

    /// Sends a text, which must fit into the socket's buffer.
    func send(_ text: String) {
        #expect(offer(Array(text.utf8)[...]) == text.utf8.count)
    }

    /// Sends a line if the socket's buffer has room. A short line is sent completely or not at all.
    /// - Returns: true if the line was sent.
    func offer(line: String) -> Bool {
        offer(Array((line + "\n").utf8)[...]) > 0
    }

    private func offer(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Self.atOnce) }
    }

    // MARK: Receiving

    /// Takes all lines that have arrived, and returns their number. The answers to a batch are one line.
    func takeLines() -> Int {
        lines().count
    }

    /// Takes and returns the lines that have arrived.
    func lines() -> [[UInt8]] {
        receive()
        var lines: [[UInt8]] = []
        while let length = partial.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(Array(partial[..<length]))
            partial.removeFirst(length + 1)
        }
        return lines
    }

    private func receive() {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, Self.atOnce)
            if count == 0 { isAtEnd = true }
            guard count > 0 else { return }
            partial += bytes[..<count]
        }
    }

    /// Takes and returns the messages that have arrived. The messages of a batch are separate elements.
    func messages() throws -> [DataItem] {
        try lines().flatMap { line in
            let message = try DataItem(parsing: line)
            guard case .array(let messages) = message else { return [message] }
            return messages
        }
    }
}

extension ServiceStage {
    /// Waits until the service satisfies a condition.
    nonisolated func until(_ isSo: @Sendable (Service) throws -> Bool) async throws {
        while try await !inspect(isSo) { try await Task.sleep(for: .milliseconds(1)) }
    }
}
