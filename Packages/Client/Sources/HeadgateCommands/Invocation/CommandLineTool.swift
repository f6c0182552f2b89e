import Glibc
import HeadgateClient
import HeadgateData
import HeadgateText
import HeadgateTransport
import HeadgateWire

/// The command line tool `headgate` (Protocol, The command line tool).
public enum CommandLineTool {
    /// Runs the tool with arguments, without the program's name. Returns the exit code.
    /// - Parameter commit: the commit that the program was built from, for `--version`.
    public static func run(_ arguments: [String], builtFrom commit: String? = nil) -> Int32 {
        ProcessSignals.prepare()
        return run(arguments, on: .standard, builtFrom: commit, inBackground: { $0.withBackgroundErrors() }).rawValue
    }

    /// - Parameter inBackground: returns the terminal for a command that runs until it is stopped.
    static func run(
        _ arguments: [String], on terminal: Terminal, builtFrom commit: String? = nil,
        inBackground: (Terminal) -> Terminal = { $0 }
    ) -> ExitCode {
        var terminal = terminal
        defer { terminal.finish() }
        do {
            let request = try CommandLineParser.parse(arguments)
            if case .run(let command, let arguments) = request, command.runsOn(arguments) {
                terminal = inBackground(terminal)
            }
            return try act(request, on: terminal, builtFrom: commit)
        } catch {
            return report(error, on: terminal)
        }
    }

    private static func act(
        _ request: CommandLineRequest, on terminal: Terminal, builtFrom commit: String?
    ) throws -> ExitCode {
        switch request {
        case .help(let topic):
            try terminal.write(try Help.text(about: topic))
            return .success
        case .manual:
            try terminal.write(ManualPage.text)
            return .success
        case .version:
            try terminal.write(Version.line(of: "headgate", builtFrom: commit) + "\n")
            return .success
        case .run(let command, let arguments):
            return try command.run(Invocation(arguments: arguments, terminal: terminal))
        }
    }

    /// Prints an error, and returns its exit code.
    private static func report(_ error: any Error, on terminal: Terminal) -> ExitCode {
        switch error {
        case let error as UsageError:
            let topic = error.command.isEmpty ? "" : " \(error.command)"
            terminal.printError("\(error.message)\nsee `headgate\(topic) --help`")
            return .usage
        case ClientError.refused(let error):
            terminal.printError(RefusalText.text(error))
            return .failure
        case let failure as OutputDescriptor.Failure where failure.isReaderGone:
            // A reader that has stopped needs no message.
            return .failure
        case ClientError.cannotConnect:
            terminal.printError(
                "\(error)\nIs headgated running? May you use its socket? `headgate doctor` checks both."
                    + " Give another socket with --socket PATH or $HEADGATE_SOCKET.")
            return .cannotConnect
        default:
            terminal.printError("\(error)")
            return .failure
        }
    }
}

/// Describes a refusal of the daemon.
private enum RefusalText {
    /// Returns the error's message. For refused settings it has one line for each fault, with its path (Behaviour S2).
    static func text(_ error: RPCError) -> String {
        let faults: [DataObject] = error.data.get(key: "faults") ?? []
        guard error.reason == .invalidSettings, !faults.isEmpty else { return error.message }
        let lines = faults.map { fault in
            let path: String = fault.get(key: "path") ?? ""
            let message: String = fault.get(key: "message") ?? ""
            return path.isEmpty ? message : "\(path): \(message)"
        }
        return (["the settings are refused; nothing has changed:"] + lines).joined(separator: "\n")
    }
}

/// One run of a command.
struct Invocation {
    /// The arguments of the command.
    let arguments: Arguments
    /// The terminal that the command uses.
    let terminal: Terminal

    /// The daemon's socket.
    var socketPath: String {
        arguments.value(.socket) ?? SocketPath.default
    }

    /// The present time, for texts about barriers and dispatchers.
    var clock: WallClock { .local }

    /// Returns a connection for this run. Its first attempt fails at once if there is no daemon. If the daemon restarts
    /// later, the connection waits as long as `timeLimit`, or for ever if it is nil.
    func connection(on loop: EventLoop, reconnectingFor timeLimit: Duration?) -> ClientConnection {
        var options = ClientOptions()
        options.connectTimeout = .zero
        options.reconnectTimeout = timeLimit
        // Commands print their own messages, except for what is refused after a reconnection.
        options.onWarning = nil
        options.onRefusal = { [terminal] in terminal.printError($0) }
        let identity = ClientIdentity(name: "headgate", version: Version.current)
        return ClientConnection(to: socketPath, as: identity, options: options, on: loop)
    }

    /// Calls all methods at once, and waits for their answers.
    /// - Parameter attend: called with the connection before the calls.
    func ask(_ questions: [Question], _ attend: (ClientConnection) -> Void = { _ in }) throws -> [DataObject] {
        try talk(count: questions.count) { connection, index, completion in
            if index == 0 { attend(connection) }
            let question = questions[index]
            connection.call(question.method, question.params, completion)
        }
    }

    /// Tracks an event, and waits for the answer.
    func track(_ event: OutgoingEvent) throws -> DataObject {
        try talk(count: 1) { connection, _, completion in connection.track(event, completion) }[0]
    }

    /// Prints the daemon's answer as JSON if `--json` is given, else as text.
    func show(_ answer: DataObject, else words: @autoclosure () throws -> String) throws {
        guard arguments.has(.json) else { return try terminal.write(words()) }
        try terminal.write(json: DataItem.object(answer).json + "\n")
    }

    private func talk(
        count: Int, _ call: (ClientConnection, Int, @escaping ClientConnection.Completion) -> Void
    ) throws -> [DataObject] {
        // Without a question no answer would end the loop.
        guard count > 0 else { return [] }
        let loop = try EventLoop()
        let connection = connection(on: loop, reconnectingFor: .seconds(5))
        var answers: [Int: Result<DataItem, any Error>] = [:]
        for index in 0..<count {
            call(connection, index) { result in
                answers[index] = result.map(\.item)
                if answers.count == count { loop.stop() }
            }
        }
        loop.run()
        return try (0..<count).map { index in
            guard case .object(let answer)? = try answers[index]?.get() else {
                throw ClientError.badAnswer("the daemon's answer is not an object")
            }
            return answer
        }
    }
}

/// A call of a method.
struct Question {
    let method: String
    var params: DataObject = [:]
}
