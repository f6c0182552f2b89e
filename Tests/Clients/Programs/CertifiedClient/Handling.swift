import HeadgateClient
import HeadgateData
import Synchronization

/// Serves boards, works for dispatchers and watches topics until the input ends.
struct Handling {
    private struct Requested: Error {}

    /// An error with a very long description.
    private struct Long: Error, CustomStringConvertible {
        let description = String(repeating: "x", count: 100_000)
    }

    /// Suspends handlers until the input has a line. A line that comes while no handler waits is for the next handler.
    private actor Gate {
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private var isOpen = false

        func wait() async {
            guard !isOpen else {
                isOpen = false
                return
            }
            await withCheckedContinuation { waiting.append($0) }
        }

        func open() {
            let all = waiting
            waiting = []
            isOpen = all.isEmpty
            for continuation in all { continuation.resume() }
        }
    }

    private let gate = Gate()

    let client: HeadgateClient
    let names: [String]

    init(client: HeadgateClient, names: [String]) {
        (self.client, self.names) = (client, names)
    }

    func run() async throws {
        let tasks = Mutex<[Task<Void, any Error>]>([])
        for name in names {
            // Each handler is registered before the next one starts, in the order of the arguments.
            let (news, continuation) = AsyncStream.makeStream(of: Void.self)
            let task = Task { try await handle(name) { continuation.yield() } }
            tasks.withLock { $0.append(task) }
            for await _ in news { break }
        }
        Output.put("ready")
        while readLine() != nil { await gate.open() }
        await gate.open()
        for task in tasks.withLock({ $0 }) { task.cancel() }
        await client.close()
    }

    /// Handles `board:ID`, `worker:ID` or `watch:TOPIC`, and calls `began` when the daemon has registered the handler.
    private func handle(_ name: String, _ began: @escaping @Sendable () -> Void) async throws {
        let parts = name.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw UsageError("\(name): a kind and an id") }
        let onNews: @Sendable (ServingNews) -> Void = { if $0 == .began { began() } }
        switch parts[0] {
        case "board": try await client.serve(parts[1], onNews: onNews) { try await run($0) }
        case "worker": try await client.work(for: parts[1], onNews: onNews) { try await work($0) }
        case "watch": try await watch(WatchTopic(rawValue: parts[1]), began)
        default: throw UsageError("\(name): nobody knows how to handle that")
        }
    }

    /// Returns the input as output, unless the input requests something else.
    private func run(_ activation: BoardActivation) async throws -> BoardOutcome {
        switch activation.input {
        case "refuse": return .refused
        case "fail", "leave", "cancel", "mute", "wrong": throw Requested()
        case "long": throw Long()
        case "wait":
            Output.put(["runs": .string(activation.board)])
            await gate.wait()
            return .done("wait")
        case let input: return .done(input)
        }
    }

    /// Handles each event as the event's name requests.
    private func work(_ batch: DeliveredBatch) async throws -> [String: DeliveredEventOutcome] {
        let events = batch.events.map { event in
            (id: event.get(key: "id", as: String.self) ?? "", name: event.get(key: "event", as: String.self) ?? "")
        }
        Output.put(["batch": .array(events.map { .string($0.id) }), "attempt": .number(DataNumber(batch.attempt))])
        let names = Set(events.map(\.name))
        if names.contains("wait") { await gate.wait() }
        if names.contains("long") { throw Long() }
        if !names.isDisjoint(with: ["fail", "leave", "cancel", "mute", "wrong"]) { throw Requested() }
        if names.contains("retry_once"), batch.attempt > 1 { return [:] }
        let outcomes: [String: DeliveredEventOutcome] = ["dead": .dead, "retry": .retry, "retry_once": .retry]
        return Dictionary(events.compactMap { event in outcomes[event.name].map { (event.id, $0) } }) { $1 }
    }

    private func watch(_ topic: WatchTopic?, _ began: () -> Void) async throws {
        guard let topic else { throw UsageError("a topic that nobody knows") }
        for try await update in client.watch([topic]) {
            Output.put(.object(["news": .string(update.word), "change": .object(update.change)]))
            began()
        }
    }
}

extension WatchUpdate {
    fileprivate var word: String {
        switch self {
        case .began: "began"
        case .interrupted: "interrupted"
        case .dispatchers, .barriers, .outcomes, .clients: "changed"
        }
    }

    /// The params of the notification without the watch's id.
    fileprivate var change: DataObject {
        switch self {
        case .began, .interrupted: [:]
        case .dispatchers(let dispatchers, let removed):
            [
                "topic": "dispatchers", "dispatchers": .array(dispatchers.map { .object($0.object) }),
                "removed": .array(removed.map { .string($0) }),
            ]
        case .barriers(let barriers, let removed):
            [
                "topic": "barriers", "barriers": .array(barriers.map { .object($0.object) }),
                "removed": .array(removed.map { .string($0) }),
            ]
        case .outcomes(let outcomes): ["topic": "outcomes", "outcomes": .array(outcomes.map { .object($0.object) })]
        case .clients(let clients): ["topic": "clients", "clients": .array(clients.map { .object($0.object) })]
        }
    }
}
