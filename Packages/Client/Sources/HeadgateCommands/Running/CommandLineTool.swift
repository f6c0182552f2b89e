import Glibc
import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// The command line tool `headgate` (Protocol, The command line tool).
public enum CommandLineTool {
    /// Does what the arguments, without the program's name, ask for; gives the process's exit code.
    /// - Parameter commit: which the program is built from, for `--version`.
    public static func run(_ arguments: [String], builtFrom commit: String? = nil) -> Int32 {
        ProcessSignals.prepare()
        return run(arguments, on: .standard, builtFrom: commit, inBackground: { $0.complainingInBackground() }).rawValue
    }

    /// - Parameter inBackground: what a command that runs on complains to.
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
            return tell(error, on: terminal)
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

    /// Tells what went wrong, and what the exit code for it is.
    private static func tell(_ error: any Error, on terminal: Terminal) -> ExitCode {
        switch error {
        case let error as UsageError:
            let topic = error.command.isEmpty ? "" : " \(error.command)"
            terminal.complain("\(error.message)\n`headgate\(topic) --help` tells how it is used")
            return .usage
        case ClientError.refused(let error):
            terminal.complain(RefusalText.text(error))
            return .failure
        case let failure as OutputDescriptor.Failure where failure.isReaderGone:
            // Whoever stopped reading knows that, and needs no message.
            return .failure
        case ClientError.cannotConnect:
            terminal.complain("\(error)\nIs headgated running? --socket PATH or $HEADGATE_SOCKET names another place.")
            return .cannotConnect
        default:
            terminal.complain("\(error)")
            return .failure
        }
    }
}

/// Says why the daemon refused.
private enum RefusalText {
    /// The message; of refused settings every fault with its place, a line each (Behaviour S2).
    static func text(_ error: RPCError) -> String {
        let faults: [DataObject] = error.data.get(key: "faults") ?? []
        guard error.reason == .invalidSettings, !faults.isEmpty else { return error.message }
        let lines = faults.map { fault in
            let path: String = fault.get(key: "path") ?? ""
            let message: String = fault.get(key: "message") ?? ""
            return path.isEmpty ? message : "\(path): \(message)"
        }
        return (["these settings are refused, nothing has changed"] + lines).joined(separator: "\n")
    }
}

/// An invocation is one run of a command.
struct Invocation {
    /// What it was given.
    let arguments: Arguments
    /// Where it reads and writes.
    let terminal: Terminal

    /// The daemon's socket.
    var socketPath: String {
        arguments.value(.socket) ?? SocketPlace.usual
    }

    /// Words about barriers and dispatchers need to know the time.
    var clock: WallClock { .local }

    /// A connection for this run, which fails at once with nobody there, and waits so long for a daemon that restarts;
    /// nil is for ever.
    func connection(on loop: EventLoop, reconnectingFor patience: Duration?) -> ClientConnection {
        var options = ClientOptions()
        options.connectTimeout = .zero
        options.reconnectTimeout = patience
        // Commands tell it in their own words.
        options.onWarning = nil
        let identity = ClientIdentity(name: "headgate", version: Version.current)
        return ClientConnection(to: socketPath, as: identity, options: options, on: loop)
    }

    /// Asks the daemon all questions at once, and waits for their answers.
    func ask(_ questions: [Question]) throws -> [DataObject] {
        try talk(count: questions.count) { connection, place, completion in
            let question = questions[place]
            connection.call(question.method, question.params, completion)
        }
    }

    /// Has an event tracked, and waits for the answer.
    func track(_ event: OutgoingEvent) throws -> DataObject {
        try talk(count: 1) { connection, _, completion in connection.track(event, completion) }[0]
    }

    /// Prints the daemon's answer as it came, if that is asked for, else in words.
    func show(_ answer: DataObject, else words: @autoclosure () throws -> String) throws {
        guard arguments.has(.json) else { return try terminal.write(words()) }
        try terminal.write(json: DataItem.object(answer).json + "\n")
    }

    private func talk(
        count: Int, _ call: (ClientConnection, Int, @escaping ClientConnection.Completion) -> Void
    ) throws -> [DataObject] {
        let loop = try EventLoop()
        let connection = connection(on: loop, reconnectingFor: .seconds(5))
        var answers: [Int: Result<DataItem, any Error>] = [:]
        for place in 0..<count {
            call(connection, place) { result in
                answers[place] = result.map(\.item)
                if answers.count == count { loop.stop() }
            }
        }
        loop.run()
        return try (0..<count).map { place in
            guard case .object(let answer)? = try answers[place]?.get() else {
                throw ClientError.badAnswer("an answer that is no object")
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
