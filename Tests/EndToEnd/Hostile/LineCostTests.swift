import Foundation
import Testing

/// X3: the cost of every kind of line is bounded by its length. The cost is counted in allocations of the daemon.
///
/// A word that is longer than any valid one must be refused before it becomes a string: comparing, hashing and
/// normalizing such a string takes much longer than reading the line.
@Suite(.enabled(if: canCountAllocations, "a sanitizer has its own functions for allocations"))
struct LineCostTests {
    private static let lengths = [20_000, 200_000, 900_000]
    /// The allowance beyond a plain line of the same length, for the answer and for the daemon's other work meanwhile.
    private static let surplus = MachineFault.Allocations(calls: 400, bytes: 150_000)
    /// The bytes that a line may need for each of its own bytes. A list of digits needs most: 45 for each byte, because
    /// the position of each element is noted.
    private static let copies = 50

    @Test("X3: a line with a word that is too long needs no more memory than a plain line of the same length")
    func longWords() async throws {
        try await measure { cost in
            for length in Self.lengths {
                let plain = try await cost.ofPlainLine(length)
                for (kind, line) in Self.wordLines(length) {
                    // A buffer may grow at any time, but not three times in a row.
                    let own = try await cost.least(of: 5, line)
                    let most = plain.bytes + Self.surplus.bytes + Self.growth(length)
                    let isBounded = own.bytes <= most && own.calls <= plain.calls + Self.surplus.calls
                    #expect(isBounded, "\(kind) of \(length) bytes: \(own), a plain line: \(plain)")
                }
            }
        }
    }

    @Test("X3: the memory that any other line needs is in proportion to its length")
    func otherLines() async throws {
        try await measure { cost in
            for length in Self.lengths {
                let plain = try await cost.ofPlainLine(length)
                for (kind, line) in Self.otherLines(length) {
                    let own = try await cost.of(line)
                    let most = plain.bytes + Self.surplus.bytes + Self.growth(length) + Self.copies * length
                    // No part of a line may need an allocation of its own.
                    let isBounded = own.bytes <= most && own.calls <= plain.calls + Self.surplus.calls + length / 50
                    #expect(isBounded, "\(kind) of \(length) bytes: \(own), a plain line: \(plain)")
                }
            }
        }
    }

    /// Returns the bytes by which two lines of a length may differ because a buffer for a long line grows in steps, which depend
    /// on how the bytes arrive.
    private static func growth(_ length: Int) -> Int {
        length > 500_000 ? 2 * length : 0
    }

    private func measure(_ body: (LineCost) async throws -> Void) async throws {
        try await withScene { scene in
            let fault = try await MachineFault.countedAllocations(in: scene.directory.path)
            let daemon = scene.idleDaemon()
            daemon.environment = fault.environment
            try daemon.configure([
                "dispatchers": ["collect": scene.collector().dispatcher(), "work": ["kind": "worker"]],
                "durability": "memory",
            ])
            try await daemon.start()
            try await daemon.pause()
            try await body(LineCost(client: try await daemon.connect(), fault: fault))
        }
    }

    // MARK: Lines

    /// Returns a line for each word of the protocol, by the name of the part that is too long. `#` stands for the word.
    private static func wordLines(_ length: Int) -> [(kind: String, line: String)] {
        let calls: [(String, String)] = [
            ("name", #"track","params":{"event":#}"#), ("id", #"track","params":{"event":"x","id":#}"#),
            ("key", #"track","params":{"event":"x","key":#}"#), ("time", #"track","params":{"event":"x","time":#}"#),
            ("route", #"track","params":{"event":"x","dispatchers":[#]}"#),
            ("name of several", #"track_many","params":{"events":[{"event":"x"},{"event":#}]}"#),
            ("namespace", #"hello","params":{"client":{"name":"x"},"namespace":#}"#),
            ("client", #"hello","params":{"client":{"name":#}}"#),
            ("version", #"hello","params":{"client":{"name":"x","version":#}}"#),
            ("flush", #"flush","params":{"flush":#}"#), ("flushed", #"flush","params":{"dispatchers":[#]}"#),
            ("cancelled flush", #"flush.cancel","params":{"flush":#}"#),
            ("status", #"application.status","params":{"status":#}"#),
            ("barrier", #"barrier.register","params":{"id":#,"state":"open"}"#),
            ("scope", #"barrier.register","params":{"id":"b","state":"open","scopes":#}"#),
            ("barrier's state", #"barrier.register","params":{"id":"b","state":#}"#),
            ("barrier to set", #"barrier.set","params":{"id":#,"state":"open"}"#),
            ("barrier's dispatcher", #"barrier.set","params":{"id":"b","dispatcher":#}"#),
            ("reason", #"dispatcher.pause","params":{"id":"collect","reason":#}"#),
            ("dispatcher", #"dispatcher.resume","params":{"id":#}"#),
            ("place", #"dispatcher.rewind","params":{"id":"collect","to":#}"#),
            ("worker", #"dispatcher.subscribe","params":{"id":#}"#),
            ("queue", #"queue.peek","params":{"dispatcher":#}"#),
            ("letters", #"dead_letters.list","params":{"dispatcher":#}"#),
            ("board", #"board.activate","params":{"board":#}"#),
            ("served board", #"board.serve","params":{"board":#}"#),
            ("mainboard", #"board.activate","params":{"board":"x","mainboard":#}"#),
            ("traced id", #"event.trace","params":{"id":#}"#), ("topic", #"watch","params":{"topics":[#]}"#),
            ("traced namespace", #"event.trace","params":{"id":"x","namespace":#}"#),
            ("watch", #"unwatch","params":{"watch":#}"#), ("layer", #"config.get","params":{"layer":#}"#),
            (
                "erasure's reason",
                #"store.erase","params":{"when":{"operator":"is_defined","path":"event"},"reason":#}"#
            ),
        ]
        // Two-byte characters that Swift must sort to compare a string.
        let word = { (room: Int) in "\"a" + String(repeating: "\u{323}\u{301}", count: room / 4) + "\"" }
        let escaped = { (room: Int) in "\"" + String(repeating: "\\u0301", count: room / 6) + "\"" }
        let number = { (room: Int) in "1" + String(repeating: "0", count: room) }
        let numbers = [
            ("time to live", #"track","params":{"event":"x","ttl_ms":#}"#),
            ("timeout", #"flush","params":{"timeout_ms":#}"#),
            ("limit", #"queue.peek","params":{"dispatcher":"collect","limit":#}"#),
            ("sequence number", #"queue.purge","params":{"dispatcher":"collect","before_seq":#}"#),
            ("protocol", #"hello","params":{"client":{"name":"x"},"protocol":#}"#),
            ("credit", #"dispatcher.subscribe","params":{"id":"work","credit":#}"#),
        ]
        var lines: [(kind: String, line: String)] = []
        for (kind, call) in calls {
            lines.append((kind, line(call, length, word)))
            lines.append(("escaped \(kind)", line(call, length, escaped)))
        }
        for (kind, call) in numbers { lines.append((kind, line(call, length, number))) }
        lines.append(("method", line("#", length) { String(word($0).dropFirst()) }))
        return lines
    }

    /// Returns lines whose parts are all valid by themselves, or that are no messages.
    private static func otherLines(_ length: Int) -> [(kind: String, line: String)] {
        func list(_ element: String) -> (Int) -> String {
            { "[" + Array(repeating: element, count: $0 / (element.utf8.count + 1)).joined(separator: ",") + "]" }
        }
        let text = { (room: Int) in "\"" + String(repeating: "x", count: room) + "\"" }
        let members = { (room: Int) in
            "{" + (0..<room / 12).map { #""m\#(100_000 + $0)":1"# }.joined(separator: ",") + "}"
        }
        let data = #"track","params":{"event":"x","data":#}"#
        return [
            ("data", line(#"track","params":{"event":"x","data":{"a":#}}"#, length, text)),
            ("numbers", line(#"track","params":{"event":"x","data":{"a":#}}"#, length, list("1e9"))),
            ("members", line(data, length, members)),
            ("routes", line(#"track","params":{"event":"x","dispatchers":#}"#, length, list(#""collect""#))),
            ("flushed", line(#"flush","params":{"dispatchers":#}"#, length, list(#""collect""#))),
            ("topics", line(#"watch","params":{"topics":#}"#, length, list(#""none""#))),
            (
                "scopes",
                line(#"barrier.register","params":{"id":"b","state":"open","scopes":#}"#, length, list(#""a""#))
            ),
            ("events", line(#"track_many","params":{"events":#}"#, length, list("7"))),
            ("input", line(#"board.activate","params":{"board":"none","input":#}"#, length, list("[]"))),
            ("no JSON", String(repeating: "x", count: length)),
            ("nested", String(repeating: "[", count: length)),
            ("batch", list("7")(length)),
        ]
    }

    /// Returns a request of this length. The part `#` is extended to reach the length.
    private static func line(_ call: String, _ length: Int, _ part: (Int) -> String) -> String {
        let room = length - call.utf8.count - 40
        return #"{"jsonrpc":"2.0","id":1,"method":""# + call.replacing("#", with: part(room)) + "}"
    }
}

/// Measures the allocations that lines cause.
private struct LineCost {
    let client: LineClient
    let fault: MachineFault

    /// Returns the cost of a line that is read and has no effect. Earlier ones enlarge the daemon's buffers.
    func ofPlainLine(_ length: Int) async throws -> MachineFault.Allocations {
        let pad = String(repeating: "x", count: length - 70)
        let line = #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"pad":"\#(pad)"}}"#
        for _ in 1...3 { _ = try await of(line) }
        return try await of(line)
    }

    /// Returns the least cost of a line that is sent several times.
    func least(of times: Int, _ line: String) async throws -> MachineFault.Allocations {
        var least = try await of(line)
        for _ in 1..<times {
            let again = try await of(line)
            if again.bytes < least.bytes { least = again }
        }
        return least
    }

    /// Returns the cost of a line. A second request ensures that the daemon has finished with the line.
    func of(_ line: String) async throws -> MachineFault.Allocations {
        let before = fault.allocations
        try await client.send(line)
        _ = try await client.line()
        _ = try await client.result("ping")
        return fault.allocations - before
    }
}

private let canCountAllocations = !ProcessInfo.processInfo.environment.keys.contains { $0.hasSuffix("SAN_OPTIONS") }
