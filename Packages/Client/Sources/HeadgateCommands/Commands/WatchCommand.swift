import HeadgateClient
import HeadgateTransport
import HeadgateWire

extension Command {
    private static let json = Option("--json", "print each notification as a line of JSON, also on a terminal")

    /// The command `headgate watch`.
    static let watch = Command(
        name: "watch", summary: "Show the daemon's state live.",
        operands: [Operand("TOPIC", .any)], options: [json],
        notes: """
            Topics: dispatchers, barriers, outcomes, clients. On a terminal the command shows the named topics, by default
            dispatchers and barriers; q or Ctrl-C ends it. Otherwise, or with --json, it prints each notification as a
            line: first the present state of each topic, then the changes; by default of all topics. When the daemon
            restarts, the watch continues, starting with the present state.
            """
    ) { invocation in
        let topics = try topics(invocation.arguments.operands)
        if let terminal = invocation.terminal.screen, !invocation.arguments.has(json) {
            return try WatchView(invocation, topics: topics.isEmpty ? WatchView.default : topics, on: terminal).run()
        }
        return try WatchLines(invocation, topics: topics.isEmpty ? nil : topics).run()
    }

    private static func topics(_ words: [String]) throws(UsageError) -> [WatchTopic] {
        var topics: [WatchTopic] = []
        for word in words {
            guard let topic = WatchTopic(rawValue: word) else {
                let hint = SpellingSuggestion.hint(for: word, among: WatchTopic.allCases.map(\.rawValue))
                throw UsageError(message: "watch: there is no topic \(word)\(hint)", command: "watch")
            }
            if !topics.contains(topic) { topics.append(topic) }
        }
        return topics
    }
}

/// A watch for programs, which prints the params of each notification as one line.
private final class WatchLines {
    private let terminal: Terminal
    private let topics: [WatchTopic]?
    private let loop: EventLoop
    private let connection: ClientConnection
    private lazy var check = LoopTimer(on: loop) { [weak self] in self?.checkReaders() }
    private var isOver = false
    private var fault: (any Error)?

    /// The time between two checks for a reader of the output. Without notifications nothing else would find out.
    private static let checkInterval = Duration.seconds(1)

    /// - Parameter topics: the topics to watch, or nil for all.
    init(_ invocation: Invocation, topics: [WatchTopic]?) throws {
        terminal = invocation.terminal
        self.topics = topics
        loop = try EventLoop()
        connection = invocation.connection(on: loop, reconnectingFor: nil)
    }

    /// Runs until the output has no reader, or the daemon refuses.
    func run() throws -> ExitCode {
        connection.watch(topics) { [self] in take($0) }
        check.arm(after: WatchLines.checkInterval)
        loop.run()
        if let fault { throw fault }
        return .success
    }

    private func take(_ news: WatchNews) {
        guard !isOver else { return }
        switch news {
        case .began: return
        case .changed(let params): write(params)
        case .interrupted: terminal.printError("connection lost; reconnecting")
        case .ended(let error): stop(error)
        }
    }

    private func write(_ params: JSONView) {
        do {
            try terminal.write(json: String(decoding: params.raw, as: UTF8.self) + "\n")
        } catch let failure as OutputDescriptor.Failure where failure.isReaderGone {
            stop(nil)
        } catch {
            stop(error)
        }
    }

    private func checkReaders() {
        guard terminal.hasReaders else { return stop(nil) }
        check.arm(after: WatchLines.checkInterval)
    }

    private func stop(_ fault: (any Error)?) {
        isOver = true
        self.fault = fault
        connection.close()
        loop.stop()
    }
}
