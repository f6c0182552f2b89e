import Foundation

/// Makes sockets for tests.
enum TestSocket {
    struct Failure: Error {
        var operation: String
        var code = errno
    }

    /// Listens on a free port of 127.0.0.1.
    static func loopback() throws -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        return try listening(AF_INET, &address)
    }

    /// Listens on a path.
    static func unix(_ path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return try listening(AF_UNIX, &address)
    }

    /// Returns the port of a socket, or 0 for a Unix socket.
    static func port(of socket: Int32) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutableBytes(of: &address) { bytes in
            getsockname(socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
        }
        return address.sin_family == sa_family_t(AF_INET) ? UInt16(bigEndian: address.sin_port) : 0
    }

    /// Returns a port of 127.0.0.1 on which no server listens. The port stays bound until the process ends, so that no
    /// other test's server gets it.
    static func unusedPort() throws -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        return port(of: try bound(AF_INET, &address))
    }

    private static func listening<Address>(_ family: Int32, _ address: inout Address) throws -> Int32 {
        let socket = try bound(family, &address)
        guard listen(socket, 128) == 0 else { throw Failure(operation: "listen") }
        return socket
    }

    private static func bound<Address>(_ family: Int32, _ address: inout Address) throws -> Int32 {
        let socket = Glibc.socket(family, Int32(SOCK_STREAM.rawValue | UInt32(SOCK_CLOEXEC.rawValue)), 0)
        guard socket >= 0 else { throw Failure(operation: "socket") }
        let bound = withUnsafeBytes(of: &address) { bytes in
            bind(socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard bound == 0 else { throw Failure(operation: "bind") }
        return socket
    }
}

/// The server's side of one connection. All calls block the thread.
struct TestConnection {
    let socket: Int32

    init(_ socket: Int32) {
        self.socket = socket
    }

    /// Returns the next complete request, or nil at the end.
    func request(_ number: Int) -> ReceivedRequest? {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = read(1)?.first else { return nil }
            bytes.append(byte)
        }
        guard var request = ReceivedRequest(head: bytes, connection: number) else { return nil }
        let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
        guard let body = read(length) else { return nil }
        request.body = body
        return request
    }

    /// Sends a reply. Returns false if the connection must be closed.
    func send(_ reply: ScriptedReply) -> Bool {
        switch reply {
        case .bytes(let text):
            return send(text)
        case .raw(let bytes):
            return send(bytes)
        case .last(let text):
            _ = send(text)
            return false
        case .endless(let head, let again):
            guard send(head) else { return false }
            while send(again) {}
            return false
        case .silence:
            while read(1) != nil {}
            return false
        }
    }

    private func send(_ text: String) -> Bool {
        send(Array(text.utf8))
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Returns exactly this many bytes, or nil if the connection ends before.
    private func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var piece = [UInt8](repeating: 0, count: count - bytes.count)
            let got = recv(socket, &piece, piece.count, 0)
            guard got > 0 else { return nil }
            bytes += piece.prefix(got)
        }
        return bytes
    }
}
