import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests the account of a connection (Behaviour X2): it counts the messages and bytes that the daemon keeps for the
/// connection. While the account is full, the daemon does not read from the connection.
@Suite("The account of a connection", .timeLimit(.minutes(5)))
struct AccountTests {
    /// Runs `body` with the dispatcher `archive` paused and one pending event, so that flushes wait.
    private func held(
        _ limits: DataObject, _ body: (ServiceStage, RawClient, LineClient) async throws -> Void
    ) async throws {
        try await ServiceStage.run(["limits": .object(limits)]) { stage in
            let other = try await stage.client()
            try await other.call("dispatcher.pause", ["id": "archive"])
            try await other.call("track", ["event": "x"])
            try await body(stage, try RawClient(connectingTo: stage.socket), other)
        }
    }

    private static func waitingFlush(_ name: String, id: Int? = nil, padding: Int = 0) -> String {
        let id = id.map { #""id":\#($0),"# } ?? ""
        let padding = String(repeating: "x", count: padding)
        return #"{"jsonrpc":"2.0",\#(id)"method":"flush","params":"#
            + #"{"wait":true,"timeout_ms":0,"flush":"\#(name)","pad":"\#(padding)"}}"#
    }

    private static func call(_ id: Int?, _ method: String, _ params: String = "{}") -> String {
        #"{"jsonrpc":"2.0",\#(id.map { #""id":\#($0),"# } ?? "")"method":"\#(method)","params":\#(params)}"#
    }

    @Test("X2: the account counts finished answers of unfinished batches, so a few such batches pause reading")
    func answersOfUnfinishedBatches() async throws {
        let limit = 200_000
        try await ServiceStage.run(["limits": ["max_output_bytes": .number(DataNumber(limit))]]) { stage in
            let other = try await stage.client()
            let client = try RawClient(connectingTo: stage.socket)
            for line in 0..<40 {
                let first = line * 6
                let wait = Self.call(first, "board.activate", #"{"board":"late","wait_ms":86400000}"#)
                let rest = (1...5).map { Self.call(first + $0, "rpc.discover") }
                client.send("[\(([wait] + rest).joined(separator: ","))]\n")
            }
            try await stage.until { $0.sessions.counters[.pausedReadings] > 0 }
            // A line that has been begun is finished, so its answers may exceed the limit.
            let kept = try await stage.inspect { $0.sessions.all.map(\.machine.account.keptBytes).max() ?? 0 }
            #expect(kept < 2 * limit + 60_000)
            // When the boards have answered, all requests are answered and the account is empty.
            try await other.serve("late")
            var ids: [Int] = []
            var answering = 0
            while ids.count < 240 {
                if await other.waitingRequests > 0 {
                    try await other.runNext()
                    answering += 1
                }
                ids += try client.messages().compactMap { $0["id"].get() }
                try await other.call("ping")
            }
            #expect(ids.sorted() == Array(0..<240))
            #expect(answering == 40)
            try await stage.until { $0.sessions.all.allSatisfy { $0.machine.account == SessionAccount() } }
        }
    }

    @Test("X2: a single batch that exceeds the limits is answered, with some of its calls refused, and never deadlocks")
    func oneBatchAlone() async throws {
        try await ServiceStage.run(["limits": ["max_output_bytes": 50_000, "max_unanswered": 2]]) { stage in
            let client = try RawClient(connectingTo: stage.socket)
            let calls = (0..<20).map { Self.call($0, "rpc.discover") }
            client.send("[\(calls.joined(separator: ","))]\n")
            var answers: [DataItem] = []
            while answers.isEmpty {
                answers = try client.messages()
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(answers.compactMap { $0["id"].get() } == Array(0..<20))
            let refused = answers.filter { $0["error"]["data"]["reason"] == "limit" }
            #expect((1..<20).contains(refused.count))
        }
    }

    @Test("X2: the account counts a batch's bytes until the last of its messages is finished")
    func bytesOfABatch() async throws {
        try await held(["max_unanswered_bytes": 10_000]) { stage, client, other in
            for number in 1...5 {
                let wait = Self.waitingFlush("f\(number)", id: number, padding: 4_000)
                client.send("[\(Self.call(100 + number, "ping")),\(wait)]\n")
            }
            try await stage.until { $0.sessions.counters[.pausedReadings] > 0 }
            #expect(try await stage.inspect { $0.sessions.all.map(\.waiting.count).max() } == 3)
            #expect(client.takeLines() == 0)
        }
    }

    @Test("X2: when unanswered requests reach max_unanswered_bytes, reading pauses until one is answered")
    func bytesOfRequests() async throws {
        try await held(["max_unanswered_bytes": 1_000]) { stage, client, other in
            for number in 1...2 { client.send(Self.waitingFlush("f\(number)", id: number, padding: 500) + "\n") }
            try await stage.until { $0.sessions.counters[.pausedReadings] == 1 }
            client.send(Self.call(3, "ping") + "\n")
            for _ in 1...3 { try await other.call("ping") }
            #expect(client.takeLines() == 0)
            try await other.call("flush.cancel", ["flush": "f1"])
            var ids: [Int] = []
            while ids.count < 2 {
                ids += try client.messages().compactMap { $0["id"].get() }
                try await other.call("ping")
            }
            #expect(ids == [1, 3])
        }
    }

    @Test("X2, S3: if a raised limit makes room, reading continues at once")
    func otherLimits() async throws {
        try await held(["max_unanswered": 2]) { stage, client, other in
            for number in 1...2 { client.send(Self.waitingFlush("f\(number)", id: number) + "\n") }
            try await stage.until { $0.sessions.counters[.pausedReadings] == 1 }
            client.send(Self.call(3, "ping") + "\n")
            for _ in 1...3 { try await other.call("ping") }
            #expect(client.takeLines() == 0)
            try await other.call("config.set", ["patch": ["limits": ["max_unanswered": 3]]])
            var ids: [Int] = []
            for _ in 1...50 where ids.isEmpty {
                try await other.call("ping")
                ids += try client.messages().compactMap { $0["id"].get() }
            }
            #expect(ids == [3])
        }
    }

    @Test(
        "X2: the account counts notifications until their work is finished",
        arguments: ["flush", "board.activate"])
    func notifications(method: String) async throws {
        try await held(["max_unanswered": 3]) { stage, client, other in
            for number in 1...3 {
                let activate = Self.call(nil, "board.activate", #"{"board":"late","wait_ms":60000}"#)
                client.send((method == "flush" ? Self.waitingFlush("f\(number)") : activate) + "\n")
            }
            try await stage.until { $0.sessions.counters[.pausedReadings] == 1 }
            client.send(Self.call(1, "ping") + "\n")
            for _ in 1...3 { try await other.call("ping") }
            #expect(client.takeLines() == 0)
            if method == "flush" {
                try await other.call("flush.cancel", ["flush": "f2"])
            } else {
                try await other.serve("late")
                try await other.runNext()
            }
            var answers: [DataItem] = []
            while answers.isEmpty {
                answers += try client.messages()
                try await other.call("ping")
            }
            // Notifications get no answer, not even if they fail.
            #expect(answers.map(\.["id"]) == [1])
        }
    }

    @Test("A1: board.activate as a notification runs its board, and has no answer")
    func activateAsNotification() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let server = try await stage.client()
            try await server.serve("lamp")
            await client.send(Self.call(nil, "board.activate", #"{"board":"lamp","input":"on"}"#))
            #expect(try await server.runNext()["input"] == "on")
            try await client.call("ping")
            try await server.call("ping")
            try await client.call("ping")
            #expect(await client.waitingNotifications == 0)
            let counters = try await stage.inspect { $0.sessions.counters[.failedNotifications] }
            #expect(counters == 0)
        }
    }

    // MARK: Clients that disconnect

    @Test("X2: if a client disconnects while its session is paused, the session closes after storing the sent events")
    func goneWhilePaused() async throws {
        try await held(["max_unanswered": 20]) { stage, client, other in
            for number in 1...20 { client.send(Self.waitingFlush("f\(number)", id: number) + "\n") }
            try await stage.until { $0.sessions.counters[.pausedReadings] == 1 }
            for number in 1...50 { client.send(Self.call(100 + number, "track", #"{"event":"late"}"#) + "\n") }
            // The session holds some of the lines, and the kernel's socket buffer has the others.
            let session = try await stage.inspect { service in
                Weak(service.sessions.all.first { $0.machine.reading == .paused(until: .room) })
            }
            #expect(await session.isThere(stage))
            client.close()
            try await stage.until { $0.sessions.count == 1 }
            #expect(try await other.call("status")["counters"]["received"] == 51)
            // The client's flushes continue (Behaviour X2, limits by user), and none of them retains the session.
            while await session.isThere(stage) { try await other.call("ping") }
        }
    }

    @Test("X2: if a client half-closes and then disconnects, its session closes, even with waiting calls")
    func goneAfterFinishing() async throws {
        try await held([:]) { stage, client, other in
            client.send(Self.waitingFlush("f", id: 1) + "\n")
            client.send(Self.call(2, "board.activate", #"{"board":"late","wait_ms":86400000}"#) + "\n")
            client.finish()
            try await stage.until { $0.sessions.all.contains { $0.machine.reading == .over } }
            let session = try await stage.inspect { service in
                Weak(service.sessions.all.first { $0.machine.reading == .over })
            }
            client.close()
            try await stage.until { $0.sessions.count == 1 && $0.boards.isIdle }
            while await session.isThere(stage) { try await other.call("ping") }
        }
    }

    @Test("X2: if a client disconnects while its session waits for the store, the session closes")
    func goneWhileTheStoreHangs() async throws {
        let adding: ServiceStage.Adding = { configuration in
            configuration.makeStore = { scheduler in
                let store = FaultyStore(scheduler: scheduler)
                store.holdsAppends = true
                return store
            }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let other = try await stage.client()
            _ = await other.request("track", ["event": "first"])
            let client = try RawClient(connectingTo: stage.socket)
            let event = Self.call(
                1, "track", #"{"event":"x","data":{"x":"\#(String(repeating: "x", count: 50_000))"}}"#)
            // Sends until the commit group and the socket's buffer are full.
            while try await !stage.inspect({ $0.gate.events.isGroupFull }) {
                client.fill(with: event + "\n")
                try await Task.sleep(for: .milliseconds(1))
            }
            client.fill(with: event + "\n")
            client.close()
            try await stage.until { $0.sessions.count == 1 }
            try await stage.inspect { service in
                let store = try #require(service.gate.events.store as? FaultyStore)
                store.holdsAppends = false
            }
        }
    }

    @Test(
        "Protocol, Framing: a client that half-closes while its session is paused gets all answers before the end")
    func finishedWhilePaused() async throws {
        try await held(["max_unanswered": 3]) { stage, client, other in
            for number in 1...3 { client.send(Self.waitingFlush("f\(number)", id: number) + "\n") }
            try await stage.until { $0.sessions.counters[.pausedReadings] == 1 }
            for number in 4...20 { client.send(Self.call(number, "ping") + "\n") }
            client.finish()
            for _ in 1...3 { try await other.call("ping") }
            #expect(try await stage.inspect { $0.sessions.count } == 2)
            for number in 1...3 { try await other.call("flush.cancel", ["flush": .string("f\(number)")]) }
            var ids: [Int] = []
            while !client.isAtEnd {
                ids += try client.messages().compactMap { $0["id"].get() }
                try await other.call("ping")
            }
            #expect(ids.sorted() == Array(1...20))
        }
    }
}

/// A weak reference to a session.
private final class Weak: @unchecked Sendable {
    // Only the service's loop uses the reference.
    private weak var session: Session?

    init(_ session: Session?) { self.session = session }

    func isThere(_ stage: ServiceStage) async -> Bool {
        (try? await stage.inspect { _ in self.session != nil }) ?? false
    }
}
