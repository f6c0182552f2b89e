import Glibc
import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests the limit of the work that a session may do in one turn of the event loop (Behaviour X3).
@Suite("A session's share of a turn", .timeLimit(.minutes(5)))
struct TurnShareTests {
    @Test("X3: a session's share of a turn is used up by a number of events, or by far fewer calls")
    func spending() {
        var share = TurnShare()
        for _ in 1..<TurnShare.whole { share.spend() }
        #expect(!share.isUsedUp)
        share.spend()
        #expect(share.isUsedUp)
        var calls = TurnShare()
        var count = 0
        while !calls.isUsedUp {
            calls.spend()
            calls.spend(TurnShare.call)
            count += 1
        }
        #expect(count == TurnShare.whole / 16)
    }

    @Test("X3: work that exceeds the share of a turn is deducted from later turns")
    func debt() {
        var share = TurnShare()
        share.spend(3 * TurnShare.whole + 1)
        for _ in 1...2 {
            share.renew()
            #expect(share.isUsedUp)
        }
        share.renew()
        #expect(share.left == TurnShare.whole - 1)
        share.renew()
        #expect(share.left == TurnShare.whole)
    }

    @Test(
        "X3: a client that floods its socket gets no more than its share, and another client an answer in each turn",
        arguments: [
            // The answer has nearly 30 KB.
            Garbage(#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#, cost: 15 + 28_000 / TurnShare.answerBytes),
            Garbage("x", cost: 1), Garbage("{}", cost: 1), Garbage(#"{"jsonrpc":"2.0","method":"nothing"}"#, cost: 15),
            Garbage(String(repeating: "x", count: 60_000), cost: 1),
            Garbage(
                #"{"jsonrpc":"2.0","id":1,"method":"queue.peek","params":{"dispatcher":"archive","limit":1000}}"#,
                cost: 1_015),
            Garbage("1", batchOf: 7, cost: 14),
            Garbage(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, batchOf: 200, cost: 3_200),
            Garbage(#"{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"x"}}"#, batchOf: 200, cost: 400),
        ])
    func garbageBesideAClient(_ garbage: Garbage) async throws {
        try await ServiceStage.run { stage in
            let counts = try await stage.answersPerTurn(besideGarbage: garbage.line)
            #expect(counts.answers == Array(repeating: 1, count: AnswersPerTurn.mostTurns))
            var total = 0
            for (turn, lines) in counts.garbage.enumerated() {
                total += lines
                // A line that has been begun is finished, even if it exceeds the share.
                #expect((total - 1) * garbage.cost < (turn + 1) * TurnShare.whole)
            }
            #expect(total > TurnShare.whole / garbage.cost)
        }
    }

    @Test("X3: a session whose share is used up continues in later turns until its last line")
    func continues() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            var requests: [Int] = []
            for _ in 1...3_000 { requests.append(await client.request("ping")) }
            for request in requests { _ = try await client.answer(to: request) }
        }
    }

    @Test("X2: when a full commit group is committed, all sessions that wait for room continue, in several rounds")
    func waitingForRoom() async throws {
        let adding: ServiceStage.Adding = { configuration in
            configuration.makeStore = { scheduler in
                let store = FaultyStore(scheduler: scheduler)
                store.holdsAppends = true
                return store
            }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let first = try await stage.client()
            let request = await first.request("track", ["event": "x"])
            try await first.call("ping")
            // While one commit group is being stored, the next one fills. It holds 4 MiB, and these clients send 9 MiB.
            let data: DataObject = ["x": .string(String(repeating: "x", count: 150_000))]
            let crowd = try await withThrowingTaskGroup(of: (LineClient, Int).self) { group in
                for _ in 1...60 {
                    group.addTask {
                        let client = try await stage.client()
                        return (client, await client.request("track", ["event": "x", "data": .object(data)]))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try await stage.release(once: { $0.gate.events.isGroupFull })
            _ = try await first.answer(to: request)
            for (client, request) in crowd { _ = try await client.answer(to: request) }
        }
    }
}

/// A line that a flooding client sends repeatedly.
struct Garbage: Sendable, CustomTestStringConvertible {
    let line: String
    /// The units of a share that the line costs.
    let cost: Int
    let testDescription: String

    /// - Parameter cost: the units that the message costs in addition to its line's.
    init(_ message: String, cost: Int) {
        self.init(line: message, cost: cost, testDescription: String(message.prefix(80)))
    }

    /// - Parameter cost: the units that all messages of the batch cost together.
    init(_ message: String, batchOf count: Int, cost: Int) {
        let messages = Array(repeating: message, count: count).joined(separator: ",")
        self.init(line: "[\(messages)]", cost: cost, testDescription: "\(count) × \(message)")
    }

    private init(line: String, cost: Int, testDescription: String) {
        self.line = line
        self.cost = max(1, line.utf8.count / TurnShare.lineBytes) + cost
        self.testDescription = testDescription
    }
}

/// The number of answers to two clients in each turn.
private struct AnswersPerTurn: Sendable {
    static let mostTurns = 8
    var garbage: [Int] = []
    var answers: [Int] = []
}

extension ServiceStage {
    /// Runs two clients: one fills its socket with a line, and the other sends a request in each turn of the loop.
    fileprivate func answersPerTurn(besideGarbage line: String) async throws -> AnswersPerTurn {
        try await withCheckedThrowingContinuation { done in
            do {
                try inspect { service in
                    try TurnWitness(service, garbage: line) { done.resume(returning: $0) }.begin()
                }
            } catch {
                done.resume(throwing: error)
            }
        }
    }

    /// Lets the store commit without delay from the moment when a condition holds.
    fileprivate func release(once isReady: @escaping (Service) -> Bool) throws {
        try inspect { service in
            guard let store = service.gate.events.store as? FaultyStore else { throw Missing(what: "a store") }
            func inspect() {
                guard isReady(service) else { return service.scheduler.nextTurn(inspect) }
                store.holdsAppends = false
            }
            inspect()
        }
    }
}

/// Counts the answers to two clients at the end of each turn of the loop.
private final class TurnWitness {
    private let service: Service
    private let line: String
    private let garbage: RawClient
    private let client: RawClient
    private let done: (AnswersPerTurn) -> Void
    private var counts = AnswersPerTurn()
    private var notifications = 0

    init(_ service: Service, garbage line: String, done: @escaping (AnswersPerTurn) -> Void) throws {
        self.service = service
        self.line = line
        self.done = done
        garbage = try RawClient(of: service)
        client = try RawClient(of: service)
    }

    func begin() {
        send()
        service.scheduler.nextTurn(endTurn)
    }

    private func send() {
        garbage.fill(with: String(repeating: line + "\n", count: 65_536 / line.utf8.count))
        client.send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"# + "\n")
    }

    private func endTurn() {
        // The service sends a turn's answers at the end of the turn. This work runs after that.
        service.scheduler.soon { [self] in
            let failed = service.sessions.counters[.failedNotifications]
            counts.garbage.append(garbage.takeLines() + failed - notifications)
            counts.answers.append(client.takeLines())
            notifications = failed
            guard counts.answers.count < AnswersPerTurn.mostTurns else { return done(counts) }
            send()
            service.scheduler.nextTurn(endTurn)
        }
    }
}
