import Foundation

/// A message of a stream.
struct StoredMessage {
    let subject: String
    /// The value of `Nats-Msg-Id`.
    let id: String?
    let body: String

    var event: JSON { (try? JSON(parsing: body)) ?? .null }

    init(_ message: JSON) {
        subject = message["subject"].string ?? ""
        body = Self.decoded(message["data"]) ?? ""
        let lines = (Self.decoded(message["hdrs"]) ?? "").split(separator: "\r\n")
        id = lines.first { $0.hasPrefix("Nats-Msg-Id:") }.map {
            $0.dropFirst("Nats-Msg-Id:".count).trimmingCharacters(in: .whitespaces)
        }
    }

    private static func decoded(_ base64: JSON) -> String? {
        base64.string.flatMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension NATSClient {
    /// Makes a stream.
    func createStream(_ name: String = "EVENTS", _ more: JSON = [:]) throws {
        let usual: JSON = ["name": .string(name), "subjects": ["shop.>"], "storage": "file", "num_replicas": 1]
        let answer = try request("$JS.API.STREAM.CREATE.\(name)", usual.merging(more).description)
        guard answer["error"] == .null else { throw NeverHappened("the stream \(name)", details: "\(answer)") }
    }

    /// What the servers say of a stream.
    func stream(_ name: String = "EVENTS") throws -> JSON {
        let answer = try request("$JS.API.STREAM.INFO.\(name)")
        guard answer["error"] == .null else { throw NeverHappened("the stream \(name)", details: "\(answer)") }
        return answer
    }

    /// All messages of a stream, in its order.
    func messages(of name: String = "EVENTS") throws -> [StoredMessage] {
        let last = try stream(name)["state"]["last_seq"].int ?? 0
        guard last > 0 else { return [] }
        return try (1...last).map { number in
            let answer = try request("$JS.API.STREAM.MSG.GET.\(name)", #"{"seq":\#(number)}"#)
            guard answer["error"] == .null else { throw NeverHappened("message \(number)", details: "\(answer)") }
            return StoredMessage(answer["message"])
        }
    }
}

extension NATSNode {
    /// Asks the node something; while it is not ready for that it is asked again.
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

    /// Makes the stream `EVENTS`.
    func createStream(_ more: JSON = [:], login: JSON = [:]) async throws {
        try await ask("the stream EVENTS", login: login) { try $0.createStream("EVENTS", more) }
    }

    /// Waits until so many messages are in the stream `EVENTS`.
    func stored(atLeast count: Int, login: JSON = [:]) async throws {
        try await ask("\(count) messages in the stream", login: login) { try $0.expectMessages(atLeast: count) }
    }

    /// Waits until so many messages are in the stream `EVENTS`, and gives them all back.
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
