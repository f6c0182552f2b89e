import HeadgateCore
import HeadgateData

/// A check of `client.list`: each connection is listed once, with its state at the time of the call.
final class ClientRoster {
    /// The expected entry of a client.
    private struct Expected {
        let client: SimulatedClient
        let account: ClientAccount
        let owed: Int
        let events: Int
        let outputBytes: Int
        let isPaused: Bool
        let age: Int64
    }

    private let record: Record
    private let asker: SimulatedClient
    private var expected: [String: Expected] = [:]
    /// Sessions without a model: those of programs and of clients that are gone.
    private var others: Set<String> = []
    /// True if the call was answered at once.
    private var isPresent = false

    /// - Parameter asker: A client without outstanding answers that reads normally.
    init(_ record: Record, _ asker: SimulatedClient) {
        (self.record, self.asker) = (record, asker)
    }

    /// Requests `client.list` for some clients, and records their present state.
    func begin(_ clients: [SimulatedClient], _ others: [SimulatedConnection], at now: Instant) {
        asker.ask("client.list", "{}") { [self] in take($0) }
        for client in clients where !client.isGone {
            guard let name = client.connection.sessionName else { continue }
            let connection = client.connection
            expected[name] = Expected(
                client: client, account: client.account, owed: client.owedAnswers, events: client.owedEvents,
                outputBytes: connection.outputBytes, isPaused: connection.isPaused,
                age: (now - connection.begin).wholeMilliseconds)
        }
        let gone = clients.filter(\.isGone).map(\.connection)
        self.others = Set((gone + others).compactMap(\.sessionName))
        asker.connection.deliver(most: 5_000)
        isPresent = asker.connection.outputBytes > 0
    }

    private func take(_ result: DataObject?) {
        // If the call was not answered at once, the state has changed since.
        guard isPresent else { return }
        guard let entries = result?.getArray(key: "clients", of: DataObject.self) else {
            return record.expect(false, "client \(asker.number): client.list failed")
        }
        record.count(.rollCalled)
        let names = entries.map { $0?.get(key: "session", as: String.self) ?? "?" }
        record.expect(Set(names).count == names.count, "a client is listed twice: \(names)")
        let missing = Set(expected.keys).union(others).symmetricDifference(names)
        record.expect(missing.isEmpty, "\(missing.sorted()) are either listed or connected, not both")
        for (name, entry) in zip(names, entries) {
            guard let expected = expected[name], let entry else { continue }
            let problem = problem(about: entry, expected)
            record.expect(problem == nil, "client \(expected.client.number) is listed with \(problem ?? "")")
        }
    }

    private func problem(about entry: DataObject, _ expected: Expected) -> String? {
        let isOwn = expected.client === asker
        if entry["client"] != .null { return "a name, and has none" }
        if entry.get(key: "connected_ms") != Int(expected.age) { return "an age other than \(expected.age) ms" }
        let output: Int = entry.get(key: "output_bytes") ?? -1
        if !isOwn, output != expected.outputBytes { return "\(output) bytes, not \(expected.outputBytes)" }
        let unanswered: Int = entry.get(key: "unanswered") ?? -1
        let most = expected.owed + expected.account.notifications
        if unanswered > most || unanswered < (isOwn ? 1 : 0) { return "\(unanswered) unanswered, not \(most)" }
        return stopped(entry, unanswered, expected)
            ?? expected.account.problem(about: entry, owed: expected.owed, expected.events)
    }

    /// Checks the reason and duration for which a client is not read.
    private func stopped(_ entry: DataObject, _ unanswered: Int, _ expected: Expected) -> String? {
        let stop = entry.get(key: "stopped", as: DataObject.self)
        let isFull = unanswered >= Scene.mostUnanswered
        if stop != nil, !expected.isPaused { return "`stopped`, and is being read" }
        let reason: String? = stop?.get(key: "reason")
        if reason == "unanswered", !isFull { return "too many unanswered requests, and has fewer" }
        let age = stop?.get(key: "for_ms") ?? 0
        return age <= Int(expected.age) ? nil : "`stopped` for \(age) ms, longer than it exists"
    }
}
