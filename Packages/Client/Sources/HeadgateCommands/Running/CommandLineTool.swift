import Glibc
import HeadgateClient
import HeadgateData
import HeadgateWire

/// The command line tool `headgate` (Protocol, The command line tool).
public enum CommandLineTool {
    /// Does what the arguments, without the program's name, ask for; gives the process's exit code.
    public static func run(_ arguments: [String]) -> Int32 {
        // Whoever reads our output may leave before its end; a write then fails, and that is enough.
        signal(SIGPIPE, SIG_IGN)
        return run(arguments, on: .standard).rawValue
    }

    static func run(_ arguments: [String], on terminal: Terminal) -> ExitCode {
        do {
            return try act(try CommandLineParser.parse(arguments), on: terminal)
        } catch {
            return tell(error, on: terminal)
        }
    }

    private static func act(_ request: CommandLineRequest, on terminal: Terminal) throws -> ExitCode {
        switch request {
        case .help(let topic):
            try terminal.write(try Help.text(about: topic))
            return .success
        case .manual:
            try terminal.write(ManualPage.text)
            return .success
        case .version:
            try terminal.write("headgate \(Version.current)\n")
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
