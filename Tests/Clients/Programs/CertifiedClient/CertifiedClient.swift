import Foundation
import HeadgateClient
import HeadgateData

/// The Swift client as a program with the verbs of Docs/Clients.md.
@main
struct CertifiedClient {
    static func main() async throws {
        let words = try ProgramWords(CommandLine.arguments.dropFirst())
        switch words.verb {
        case "calls": try await Calls(client: words.client(), deadline: words.deadline).answerAll()
        case "track": try await track(words)
        case "try": try await Trying(words).run()
        case "room": try await room(words)
        case "end": try await end(words)
        case "handle": try await Handling(client: words.client(), names: words.operands).run()
        default: throw UsageError("there is no verb \(words.verb)")
        }
    }

    /// Tracks `COUNT` events without waiting between them, and writes the outcomes in order.
    private static func track(_ words: ProgramWords) async throws {
        guard words.operands.count == 2, let count = Int(words.operands[0]) else {
            throw UsageError("track COUNT NAME")
        }
        let client = try words.client()
        let events = (0..<count).map { OutgoingEvent(words.operands[1], data: ["n": .number(DataNumber($0))]) }
        for (number, result) in await client.trackEach(events).enumerated() {
            var line = result.map(\.object).outcome
            line["n"] = .number(DataNumber(number))
            Output.put(.object(line))
        }
        await client.close()
    }
}

extension CertifiedClient {
    /// Tracks an event without waiting for its answer, then another that waits for room until its deadline.
    private static func room(_ words: ProgramWords) async throws {
        guard let name = words.operands.first else { throw UsageError("room NAME") }
        let client = try words.client()
        let first = Task { try await client.track(name) }
        // The second event must not come before the first.
        try await Task.sleep(for: .milliseconds(100))
        let second = await Result.of { try await client.track(name, deadline: words.deadline) }
        Output.put(.object(second.map(\.object).outcome))
        Output.put(.object(await first.result.map(\.object).outcome))
        await client.close()
    }

    /// Tracks events without waiting for their answers, and exits.
    private static func end(_ words: ProgramWords) async throws {
        guard words.operands.count == 3, let count = Int(words.operands[1]) else {
            throw UsageError("end HOW COUNT NAME")
        }
        let client = try words.client()
        for number in 0..<count {
            client.trackSoon(OutgoingEvent(words.operands[2], data: ["n": .number(DataNumber(number))]))
        }
        // A well-behaved program drains its events before it exits.
        let left = words.operands[0] == "close" ? await client.close() : await client.drain(within: .seconds(5))
        if left > 0 { FileHandle.standardError.write(Data("\(left) events are not acknowledged\n".utf8)) }
        switch words.operands[0] {
        case "exit": exit(0)
        case "throw": throw UsageError("thrown")
        default: return
        }
    }
}

extension Result where Failure == any Error {
    /// Captures the outcome of `work`.
    fileprivate static func of(_ work: () async throws -> Success) async -> Result {
        do { return .success(try await work()) } catch { return .failure(error) }
    }
}

/// Arguments that the program does not understand.
struct UsageError: Error {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

/// The arguments of the command line.
struct ProgramWords {
    private(set) var verb = ""
    private(set) var operands: [String] = []
    private(set) var socketPath = SocketPath.default
    private(set) var namespace: String?
    var options = ClientOptions()
    /// The time limit of each call.
    private(set) var deadline: Duration?

    init(_ words: some Sequence<String>) throws {
        options.backoffBase = .milliseconds(10)
        options.backoffCap = .milliseconds(200)
        var rest = Array(words)[...]
        while let option = rest.first, option.hasPrefix("--") {
            guard let value = rest.dropFirst().first else { throw UsageError("\(option) needs a value") }
            try apply(option, value)
            rest = rest.dropFirst(2)
        }
        guard let verb = rest.first else { throw UsageError("no verb") }
        self.verb = verb
        operands = Array(rest.dropFirst())
    }

    func client() throws -> HeadgateClient {
        try HeadgateClient(
            socketPath: socketPath, name: "certified", version: "1.0", namespace: namespace, options: options)
    }

    private mutating func apply(_ option: String, _ value: String) throws {
        let number = Int(value)
        switch (option, number) {
        case ("--socket", _): socketPath = value
        case ("--namespace", _): namespace = value
        case ("--max-unanswered", let number?): options.maxUnanswered = number
        case ("--greeting-timeout-ms", let number?): options.greetingTimeout = .milliseconds(number)
        case ("--connect-timeout-ms", let number?): options.connectTimeout = .milliseconds(number)
        case ("--reconnect-timeout-ms", let number?): options.reconnectTimeout = .milliseconds(number)
        case ("--deadline-ms", let number?): deadline = .milliseconds(number)
        case ("--tell", _): report()
        case ("--signals", _): signal(SIGUSR1) { _ in }
        default: throw UsageError("\(option) \(value) is not known")
        }
    }

    /// Writes each change of the connection's state, and each warning.
    private mutating func report() {
        options.onState = { state in
            switch state {
            case .connected: Output.put(["state": "connected"])
            case .disconnected: Output.put(["state": "disconnected"])
            case .failed: return
            case .closed: Output.put(["state": "closed"])
            }
        }
        options.onWarning = { Output.put(["warning": .string($0)]) }
    }
}
