import Foundation
import HeadgateClient
import HeadgateData

/// The Swift client as a program, by the verbs of Docs/Clients.md.
@main
struct CertifiedClient {
    static func main() async throws {
        let words = try ProgramWords(CommandLine.arguments.dropFirst())
        switch words.verb {
        case "calls": try await Calls(client: words.client()).answerAll()
        case "track": try await track(words)
        case "handle": try await Handling(client: words.client(), names: words.operands).run()
        default: throw UsageError("there is no verb \(words.verb)")
        }
    }

    /// Tracks as many events without waiting in between; tells what came of each, in order.
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

/// What the program was asked for in a way that it does not know.
struct UsageError: Error {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

/// The words of the command line.
struct ProgramWords {
    let verb: String
    let operands: [String]
    private(set) var socketPath = SocketPlace.usual
    private(set) var namespace: String?
    private(set) var options = ClientOptions()

    init(_ words: some Sequence<String>) throws {
        options.backoffBase = .milliseconds(10)
        options.backoffCap = .milliseconds(200)
        var rest = Array(words)[...]
        while let option = rest.first, option.hasPrefix("--") {
            guard let value = rest.dropFirst().first else { throw UsageError("\(option) needs a value") }
            try Self.apply(option, value, &socketPath, &namespace, &options)
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

    private static func apply(
        _ option: String, _ value: String, _ socketPath: inout String, _ namespace: inout String?,
        _ options: inout ClientOptions
    ) throws {
        let number = Int(value)
        switch (option, number) {
        case ("--socket", _): socketPath = value
        case ("--namespace", _): namespace = value
        case ("--max-unanswered", let number?): options.maxUnanswered = number
        case ("--greeting-timeout-ms", let number?): options.greetingTimeout = .milliseconds(number)
        case ("--connect-timeout-ms", let number?): options.connectTimeout = .milliseconds(number)
        case ("--reconnect-timeout-ms", let number?): options.reconnectTimeout = .milliseconds(number)
        default: throw UsageError("\(option) \(value) is not known")
        }
    }
}
