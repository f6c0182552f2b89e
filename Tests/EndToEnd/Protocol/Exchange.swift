import Foundation

/// An example conversation in a document: a fenced block of lines like `→ {…}` (sent) and `2← {…}` (received by a
/// second client).
struct Exchange {
    struct Message {
        var client: Int
        var isSent: Bool
        /// The text as it appears in the document.
        var text: String
    }

    /// The line number in the document where the block begins.
    let line: Int
    private(set) var messages: [Message] = []

    /// Returns all exchanges of a Markdown document, in order.
    static func all(in document: String) throws -> [Exchange] {
        var exchanges: [Exchange] = []
        var open: Exchange?
        for (number, line) in document.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line == "```exchange" {
                open = Exchange(line: number + 1)
            } else if line == "```", let done = open {
                exchanges.append(done)
                open = nil
            } else if open != nil {
                open?.messages.append(try message(line, at: number + 1))
            }
        }
        return exchanges
    }

    private static func message(_ line: Substring, at number: Int) throws -> Message {
        let client = line.prefix { $0.isNumber }
        let rest = line.dropFirst(client.count)
        guard let arrow = rest.first, arrow == "→" || arrow == "←" else {
            throw NeverHappened("a message", details: "line \(number): \(line)")
        }
        return Message(
            client: Int(client) ?? 1, isSent: arrow == "→", text: rest.dropFirst().trimmingCharacters(in: .whitespaces))
    }

    /// Sends the messages of the example, and waits for the messages that it expects.
    func replay(with daemon: Daemon) async throws {
        var clients: [Int: LineClient] = [:]
        var received: [Int: [JSON]] = [:]
        for message in messages {
            if clients[message.client] == nil { clients[message.client] = try await daemon.connect() }
            guard let client = clients[message.client] else { continue }
            if message.isSent {
                try await client.send(message.text)
            } else {
                try await expect(message, from: client, &received[message.client, default: []])
            }
        }
        for client in clients.values { client.close() }
    }

    /// Waits for an expected message. Answers, requests and notifications may arrive in another order than in the
    /// document.
    private func expect(_ message: Message, from client: LineClient, _ kept: inout [JSON]) async throws {
        let pattern = try JSON(parsing: message.text)
        while true {
            if let index = kept.firstIndex(where: { $0.matches(pattern) }) {
                kept.remove(at: index)
                return
            }
            let next = try JSON(parsing: await client.line())
            kept.append(next)
            // A different answer to the same request: the expected answer will not come.
            guard !next.isAnswer || next["id"] != pattern["id"] || next.matches(pattern) else {
                throw NeverHappened("\(pattern)", details: "line \(line) of the document; but \(next)")
            }
        }
    }
}

extension JSON {
    fileprivate var isAnswer: Bool { isObject && self["method"] == .null }

    /// Returns true if the value matches the pattern. In a pattern, `"…"` matches any value; as a member name it allows further
    /// members, and as the last element further elements. Everything else must be equal.
    func matches(_ pattern: JSON) -> Bool {
        switch (self, pattern) {
        case (_, .string("…")): true
        case (.object(let mine), .object(let theirs)): JSON.match(mine, theirs)
        case (.array(let mine), .array(let theirs)):
            theirs.last == .string("…")
                ? mine.count >= theirs.count - 1 && zip(mine, theirs.dropLast()).allSatisfy { $0.matches($1) }
                : mine.count == theirs.count && zip(mine, theirs).allSatisfy { $0.matches($1) }
        default: self == pattern
        }
    }

    private static func match(_ mine: [String: JSON], _ theirs: [String: JSON]) -> Bool {
        let named = theirs.filter { $0.key != "…" }
        guard named.count == theirs.count ? mine.count == named.count : mine.count >= named.count else { return false }
        return named.allSatisfy { mine[$0.key]?.matches($0.value) ?? false }
    }
}
