import HeadgateData
import Testing

@testable import HeadgateServer

/// A random history of one client on a real socket of a real service, while another client cancels its flushes.
/// It checks that each request gets exactly one answer, and that the session is released at the end.
struct LiveHistory {
    private var random: SeededGenerator
    private var lastID = 0
    /// The IDs of all requests.
    private var owed: Set<Int> = []
    private var answered: [Int] = []
    private var flushes: [String] = []
    /// The number of events that the client has sent.
    private(set) var events = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// The way in which the client ends: it stays connected, half-closes, or disconnects.
    enum Ending: CaseIterable { case stays, finishes, goes }

    mutating func run(_ stage: ServiceStage, other: LineClient) async throws {
        let client = try RawClient(connectingTo: stage.socket)
        for _ in 0..<number(20...120) {
            try await step(client, other)
        }
        let ending = Ending.allCases.randomElement(using: &random) ?? .stays
        if ending != .goes { try await sendLast(client, other) }
        switch ending {
        case .stays: try await finish(client, stage, other)
        case .finishes:
            client.finish()
            try await finish(client, stage, other)
            while !client.isAtEnd {
                try await other.call("ping")
                try take(from: client)
            }
        case .goes: client.close()
        }
        client.close()
        try await stage.until { $0.sessions.count == 1 }
    }

    private mutating func step(_ client: RawClient, _ other: LineClient) async throws {
        switch number(0...9) {
        case 0...6: send(client)
        case 7: try await cancel(other)
        case 8: try await other.call("ping")
        default: try take(from: client)
        }
    }

    /// Sends one more request when the socket has room. The answer shows that the service has read all earlier lines.
    private mutating func sendLast(_ client: RawClient, _ other: LineClient) async throws {
        let id = newID()
        while !client.offer(line: #"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"#) {
            try await proceed(client, other)
        }
    }

    /// Waits until all requests are answered and all notifications are finished.
    private mutating func finish(_ client: RawClient, _ stage: ServiceStage, _ other: LineClient) async throws {
        while answered.count < owed.count { try await proceed(client, other) }
        // Flushes that were sent as notifications have no answer, and never end unless they are cancelled.
        for name in flushes { _ = try? await other.call("flush.cancel", ["flush": .string(name)]) }
        #expect(Set(answered) == owed)
        #expect(Set(answered).count == answered.count)
        try await stage.until { $0.sessions.all.allSatisfy { $0.machine.account == SessionAccount() } }
    }

    /// Makes room in the account: cancels a flush, and reads the client's answers.
    private mutating func proceed(_ client: RawClient, _ other: LineClient) async throws {
        try await cancel(other)
        try await other.call("ping")
        try take(from: client)
    }

    private mutating func take(from client: RawClient) throws {
        answered += try client.messages().compactMap { $0["id"].get() }
    }

    /// Cancels one of the client's flushes. The name stays in the list, because the flush may not have begun yet.
    private mutating func cancel(_ other: LineClient) async throws {
        guard let name = flushes.randomElement(using: &random) else { return }
        _ = try? await other.call("flush.cancel", ["flush": .string(name)])
    }

    // MARK: Lines

    private mutating func send(_ client: RawClient) {
        let before = self
        let line = line()
        // If the socket has no room for the line, restores the state as if the line had never been made.
        if !client.offer(line: line) {
            let random = random
            self = before
            self.random = random
        }
    }

    private mutating func line() -> String {
        switch number(0...9) {
        case 0: return "this is no JSON"
        case 1: return String(repeating: "x", count: 3_000)
        case 2...3: return "[\((0..<number(1...5)).map { _ in message() }.joined(separator: ","))]"
        default: return message()
        }
    }

    private mutating func message() -> String {
        let id = oneIn(5) ? "" : #""id":\#(newID()),"#
        return #"{"jsonrpc":"2.0",\#(id)\#(call())}"#
    }

    private mutating func newID() -> Int {
        lastID += 1
        owed.insert(lastID)
        return lastID
    }

    private mutating func call() -> String {
        switch number(0...9) {
        case 0...3:
            events += 1
            return
                #""method":"track","params":{"event":"x","data":{"x":"\#(String(repeating: "x", count: number(0...300)))"}}"#
        case 4:
            events += 2
            return #""method":"track_many","params":{"events":[{"event":"x"},{"event":"y"}]}"#
        case 5...6:
            let name = "f\(flushes.count)"
            flushes.append(name)
            return #""method":"flush","params":{"wait":true,"timeout_ms":0,"flush":"\#(name)"}"#
        case 7: return #""method":"board.activate","params":{"board":"nobody's"}"#
        case 8: return #""method":"status""#
        default: return #""method":"ping""#
        }
    }

    // MARK: Chance

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    private mutating func oneIn(_ times: Int) -> Bool { number(1...times) == 1 }
}
