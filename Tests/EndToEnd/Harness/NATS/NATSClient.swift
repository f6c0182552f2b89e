import Foundation

/// A small NATS client that sends one request at a time over a connection.
final class NATSClient {
    private let descriptor: Int32
    private var received: [UInt8] = []
    private var requests = 0
    private static let inbox = "_INBOX.test"

    /// - Parameter login: Members of the `CONNECT` message, such as `user` and `pass`.
    init(_ port: UInt16, login: JSON = [:]) throws {
        descriptor = try Self.connected(to: port)
        _ = try line()  // INFO
        let options: JSON = ["verbose": false, "headers": true, "no_responders": true]
        try send("CONNECT \(options.merging(login))\r\nSUB \(Self.inbox).* 1\r\nPING\r\n")
        let answer = try line()
        guard answer == "PONG" else { throw NeverHappened("a NATS connection", details: answer) }
    }

    deinit { close(descriptor) }

    /// Subscribes to subjects. The subscription is active when the call returns.
    func listen(to subject: String) throws {
        try send("SUB \(subject) 2\r\nPING\r\n")
        while try line() != "PONG" {}
    }

    /// Closes the connection at once.
    func hangUp() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Returns true if a server listens at the port.
    static func isListening(_ port: UInt16) -> Bool {
        guard let descriptor = try? connected(to: port) else { return false }
        close(descriptor)
        return true
    }

    /// Publishes a message and returns the answer.
    func request(_ subject: String, _ payload: String = "") throws -> JSON {
        requests += 1
        let inbox = "\(Self.inbox).\(requests)"
        try send("PUB \(subject) \(inbox) \(payload.utf8.count)\r\n\(payload)\r\n")
        while true {
            let words = try line().split(separator: " ").map(String.init)
            switch words.first {
            case "PING": try send("PONG\r\n")
            case "HMSG": throw NeverHappened("an answer to \(subject)", details: "no responders")
            case "MSG":
                let count = words.last.flatMap { Int($0) } ?? 0
                let body = String(decoding: try bytes(count + 2).dropLast(2), as: UTF8.self)
                if words[1] == inbox { return try JSON(parsing: body) }
            case "-ERR": throw NeverHappened("an answer to \(subject)", details: words.joined(separator: " "))
            default: break
            }
        }
    }

    // MARK: Bytes

    private func send(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw SystemError("send") }
            rest = rest.dropFirst(count)
        }
    }

    private func line() throws -> String {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: received[..<end], as: UTF8.self)
                received.removeFirst(end + 1)
                return line.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            try receive()
        }
    }

    private func bytes(_ count: Int) throws -> [UInt8] {
        while received.count < count { try receive() }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    private func receive() throws {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw count == 0 ? SystemError("recv", code: ECONNRESET) : SystemError("recv") }
        received += buffer.prefix(count)
    }

    private static func connected(to port: UInt16) throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = try SystemError.check(socket(AF_INET, kind, 0), "socket")
        // If no answer arrives in time, it is an error, and the test asks again.
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let answer = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard answer == 0 else {
            let error = SystemError("connect")
            close(descriptor)
            throw error
        }
        return descriptor
    }
}

/// A message in a stream.
struct StoredMessage {
    let subject: String
    /// The value of `Nats-Msg-Id`.
    let messageID: String?
    let body: String

    var event: JSON { (try? JSON(parsing: body)) ?? .null }

    /// The event's id.
    var id: String? { event["id"].string }

    init(_ message: JSON) {
        subject = message["subject"].string ?? ""
        body = Self.decoded(message["data"]) ?? ""
        let lines = (Self.decoded(message["hdrs"]) ?? "").split(separator: "\r\n")
        messageID = lines.first { $0.hasPrefix("Nats-Msg-Id:") }.map {
            $0.dropFirst("Nats-Msg-Id:".count).trimmingCharacters(in: .whitespaces)
        }
    }

    private static func decoded(_ base64: JSON) -> String? {
        base64.string.flatMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension NATSClient {
    /// Creates a stream.
    func createStream(_ name: String = "EVENTS", _ more: JSON = [:]) throws {
        let defaults: JSON = ["name": .string(name), "subjects": ["shop.>"], "storage": "file", "num_replicas": 1]
        let answer = try request("$JS.API.STREAM.CREATE.\(name)", defaults.merging(more).description)
        guard answer["error"] == .null else { throw NeverHappened("the stream \(name)", details: "\(answer)") }
    }

    /// Returns the server's information about a stream.
    func stream(_ name: String = "EVENTS") throws -> JSON {
        let answer = try request("$JS.API.STREAM.INFO.\(name)")
        guard answer["error"] == .null else { throw NeverHappened("the stream \(name)", details: "\(answer)") }
        return answer
    }

    /// Returns all messages of a stream, in order.
    func messages(of name: String = "EVENTS") throws -> [StoredMessage] {
        let last = try stream(name)["state"]["last_seq"].int ?? 0
        guard last > 0 else { return [] }
        return try (1...last).map { number in
            let answer = try request("$JS.API.STREAM.MSG.GET.\(name)", #"{"seq":\#(number)}"#)
            guard answer["error"] == .null else { throw NeverHappened("message \(number)", details: "\(answer)") }
            return StoredMessage(answer["message"])
        }
    }

    /// Returns all messages of a stream and deletes them, as a consumer does.
    func takeMessages(of name: String = "EVENTS") throws -> [StoredMessage] {
        let state = try stream(name)["state"]
        let (first, last) = (state["first_seq"].int ?? 1, state["last_seq"].int ?? 0)
        guard first <= last else { return [] }
        let messages = try (first...last).map { number in
            // The newest message may be counted before it can be read.
            let message = try request("$JS.API.STREAM.MSG.GET.\(name)", #"{"seq":\#(number)}"#)["message"]
            guard message != .null else { throw NeverHappened("message \(number) of \(name)") }
            return StoredMessage(message)
        }
        let answer = try request("$JS.API.STREAM.PURGE.\(name)", #"{"seq":\#(last + 1)}"#)
        guard answer["error"] == .null else { throw NeverHappened("a purge of \(name)", details: "\(answer)") }
        return messages
    }
}

extension NATSNode {
    /// Asks the node, and repeats the question until the node is ready for it.
    func ask<Answer>(_ what: String, login: JSON = [:], _ question: (NATSClient) throws -> Answer) async throws
        -> Answer
    {
        var last = ""
        do {
            return try await eventually(what) {
                do {
                    return try question(try NATSClient(port.number, login: login))
                } catch {
                    last = "\(error)"
                    return nil
                }
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(vain.what, details: last)
        }
    }

    /// Creates the stream `EVENTS`.
    func createStream(_ more: JSON = [:], login: JSON = [:]) async throws {
        try await ask("the stream EVENTS", login: login) { try $0.createStream("EVENTS", more) }
    }

    /// Waits until the stream `EVENTS` has `count` messages.
    func stored(atLeast count: Int, login: JSON = [:]) async throws {
        try await ask("\(count) messages in the stream", login: login) { try $0.expectMessages(atLeast: count) }
    }

    /// Waits until the stream `EVENTS` has `count` messages, and returns all of them.
    func messages(atLeast count: Int, login: JSON = [:]) async throws -> [StoredMessage] {
        try await ask("\(count) messages in the stream", login: login) { client in
            try client.expectMessages(atLeast: count)
            return try client.messages()
        }
    }
}

extension NATSClient {
    fileprivate func expectMessages(atLeast count: Int) throws {
        let stored = try stream()["state"]["messages"].int ?? 0
        guard stored >= count else { throw NeverHappened("\(count) messages", details: "there are \(stored)") }
    }
}
