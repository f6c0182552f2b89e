import Foundation

/// A raw connection to a daemon's socket that sends and receives lines. It never blocks its thread.
final class LineClient {
    private var descriptor: Int32
    private var received: [UInt8] = []
    private var kept: [JSON] = []
    private var lastID = 0

    /// Connects, or throws the system's error.
    init(_ socketPath: String) async throws {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        descriptor = try SystemError.check(socket(AF_UNIX, kind, 0), "socket")
        try await eventually("room in the backlog of \(socketPath)") { [descriptor] in
            if UnixSocket.connect(descriptor, to: socketPath) == 0 { return true }
            guard errno == EAGAIN else { throw SystemError("connect to \(socketPath)") }
            return false
        }
    }

    deinit { close() }

    // MARK: Sending

    /// Sends a line and adds the line feed.
    func send(_ line: String) async throws {
        try await send(bytes: Array((line + "\n").utf8))
    }

    /// Sends the bytes, and waits while the peer does not read.
    func send(bytes: [UInt8]) async throws {
        var rest = bytes[...]
        while true {
            rest = rest.dropFirst(try offer(rest))
            guard !rest.isEmpty else { return }
            guard await Readiness.shared.untilWritable(descriptor, within: .patience) else {
                throw NeverHappened("room to send")
            }
        }
    }

    /// Writes as many bytes as the socket accepts without waiting, and returns their number.
    func offer(_ bytes: ArraySlice<UInt8>) throws -> Int {
        let sent = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if sent >= 0 { return sent }
        guard errno == EAGAIN else { throw SystemError("send") }
        return 0
    }

    /// Closes the sending side. Data from the peer still arrives.
    func finishSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    // MARK: Receiving

    /// Returns the next line without its line feed.
    func line() async throws -> String {
        guard let line = try await nextLine() else { throw ConnectionEnded() }
        return line
    }

    /// Returns the next line, or nil if the peer has closed the connection.
    func nextLine() async throws -> String? {
        while true {
            if let line = takeLine() { return line }
            guard let bytes = try read() else {
                guard await Readiness.shared.untilReadable(descriptor, within: .patience) else {
                    throw NeverHappened("a line from the daemon")
                }
                continue
            }
            if bytes.isEmpty { return nil }
            received += bytes
        }
    }

    /// Returns received bytes: empty at the end of the stream, nil if nothing is available.
    private func read() throws -> [UInt8]? {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        if count >= 0 { return Array(chunk[..<count]) }
        guard errno != EAGAIN else { return nil }
        guard errno != ECONNRESET else { return [] }
        throw SystemError("recv")
    }

    private func takeLine() -> String? {
        guard let end = received.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { received.removeFirst(end + 1) }
        return String(decoding: received[..<end], as: UTF8.self)
    }

    // MARK: Calls

    /// Returns the next message that no other call has taken.
    func message() async throws -> JSON {
        guard kept.isEmpty else { return kept.removeFirst() }
        return try JSON(parsing: await line())
    }

    /// Sends a request and returns its id.
    func request(_ method: String, _ params: JSON? = nil) async throws -> Int {
        lastID += 1
        var message: JSON = ["jsonrpc": "2.0", "id": JSON(lastID), "method": .string(method)]
        if let params { message["params"] = params }
        try await send(message.description)
        return lastID
    }

    /// Returns the whole answer to a request. Other messages are kept for `message()`.
    func answer(to id: Int) async throws -> JSON {
        if let index = kept.firstIndex(where: { $0["id"].int == id }) { return kept.remove(at: index) }
        while true {
            let message = try JSON(parsing: await line())
            if message["id"].int == id { return message }
            kept.append(message)
        }
    }

    /// Calls a method and returns its result; an error is thrown as `RefusedCall`.
    func result(_ method: String, _ params: JSON? = nil) async throws -> JSON {
        let answer = try await answer(to: request(method, params))
        guard answer["error"] == .null else { throw RefusedCall(method: method, error: answer["error"]) }
        return answer["result"]
    }

    /// Calls a method that must be refused, and returns the error.
    func refusal(_ method: String, _ params: JSON? = nil) async throws -> JSON {
        do {
            let result = try await result(method, params)
            throw NeverHappened("a refusal of \(method)", details: "it answered \(result)")
        } catch let refused as RefusedCall {
            return refused.error
        }
    }
}

/// The daemon closed the connection when a line was expected.
struct ConnectionEnded: Error {}

/// A method answered with an error.
struct RefusedCall: Error, CustomStringConvertible {
    let method: String
    let error: JSON
    var description: String { "\(method) was refused: \(error)" }
}

extension LineClient {
    /// Starts a watch and returns its id.
    func watch(_ topics: String...) async throws -> String {
        let answer = try await result("watch", ["topics": JSON(topics)])
        guard let id = answer["watch"].string else { throw NeverHappened("the id of a watch", details: "\(answer)") }
        return id
    }

    /// Returns the next `changed` notification that meets a condition. Earlier messages are dropped.
    func changed(until what: String, _ expected: (JSON) -> Bool) async throws -> JSON {
        var last = JSON.null
        do {
            while true {
                let message = try await message()
                guard message["method"] == "changed" else { continue }
                last = message["params"]
                if expected(last) { return last }
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(what, details: "after \(last): \(vain)")
        }
    }

    /// Waits for a `changed` notification whose list has an entry that meets a condition, and returns that entry.
    func changed(_ list: String, _ id: String, until what: String, _ expected: (JSON) -> Bool) async throws -> JSON {
        let entry = { (news: JSON) in news[list].elements.first { $0["id"].string == id } }
        let news = try await changed(until: what) { entry($0).map(expected) ?? false }
        return entry(news) ?? .null
    }
}

/// Unix sockets by path.
enum UnixSocket {
    /// Connects as connect(2) does: returns 0, or -1 with `errno`.
    static func connect(_ descriptor: Int32, to path: String) -> Int32 {
        withAddress(path) { Glibc.connect(descriptor, $0, $1) }
    }

    /// Opens a listening socket, as a service manager does for a service.
    static func listen(at path: String) throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = try SystemError.check(socket(AF_UNIX, kind, 0), "socket")
        _ = try SystemError.check(withAddress(path) { bind(descriptor, $0, $1) }, "bind to \(path)")
        _ = try SystemError.check(Glibc.listen(descriptor, 16), "listen at \(path)")
        return descriptor
    }

    /// Opens a datagram socket, as a service manager does for notifications.
    static func datagram(at path: String) throws -> Int32 {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = try SystemError.check(socket(AF_UNIX, kind, 0), "socket")
        _ = try SystemError.check(withAddress(path) { bind(descriptor, $0, $1) }, "bind to \(path)")
        return descriptor
    }

    private static func withAddress(
        _ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        precondition(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path), "too long: \(path)")
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
