import HeadgateData

/// The command that the daemon's command line asks for.
public enum DaemonCommand: Equatable, Sendable {
    /// Run the daemon.
    case run(DaemonOptions)
    /// `--check`: print the faults of the configuration, and exit.
    case check(DaemonOptions)
    /// `--verify DIR`: print the contents of a data directory and its damage, and exit. Of the options only the
    /// configuration counts, for the keys of an encrypted store.
    case verify(String, DaemonOptions)
    /// `--help`: print the usage, and exit.
    case help
    /// `--version`: print the version, and exit.
    case version

    /// The fault of a command line that cannot be read.
    public struct UsageFault: Error, Equatable {
        /// The fault, as a text for people.
        public let message: String
    }

    /// Reads the arguments, without the program's name. `--name VALUE` and `--name=VALUE` are equal.
    public static func parse(_ arguments: [String]) throws(UsageFault) -> DaemonCommand {
        var parser = Parser(rest: arguments[...])
        return try parser.parse()
    }

    /// The text that `--help` prints.
    public static let usage = """
        usage: headgated [--config FILE] [--socket PATH] [--data DIR] [--check]
               headgated --verify DIR [--config FILE]

          --config FILE   read the configuration from FILE (JSON, comments allowed)
          --socket PATH   listen on this Unix socket; by default $HEADGATE_SOCKET, then the
                          configuration's socket, then $XDG_RUNTIME_DIR/headgate/headgate.sock,
                          then /run/headgate/headgate.sock
          --data DIR      keep events in this directory; by default the configuration's data_dir,
                          then $STATE_DIRECTORY, then $XDG_STATE_HOME/headgate, which is
                          ~/.local/state/headgate if $XDG_STATE_HOME is not set
          --check         check the configuration and print its faults; exit 1 if there are any
          --verify DIR    report the contents of a data directory without changing it; exit 1 if it is damaged;
                          the keys of an encrypted one are those of the configuration
          --help          print this
          --version       print the version

        Without a configuration, events are written to events.ndjson in the data directory.
        SIGHUP reads the configuration again; SIGTERM and SIGINT stop the daemon in order.
        """
}

/// Reads a command line.
private struct Parser {
    var rest: ArraySlice<String>
    var options = DaemonOptions()
    var isCheck = false
    var verified: String?

    mutating func parse() throws(DaemonCommand.UsageFault) -> DaemonCommand {
        while let argument = rest.popFirst() {
            let (name, value) = Parser.split(argument)
            switch (name, value) {
            case ("--help", nil), ("-h", nil): return .help
            case ("--version", nil): return .version
            case ("--check", nil): isCheck = true
            case ("--verify", _): verified = try self.value(name, value, verified)
            case ("--config", _): try take(name, value, into: \.configuration)
            case ("--socket", _): try take(name, value, into: \.socket)
            case ("--data", _): try take(name, value, into: \.dataDirectory)
            case ("--help", _), ("--version", _), ("--check", _): throw fault("\(name) takes no value")
            default: throw fault("unknown argument: \(argument)")
            }
        }
        guard let verified else { return isCheck ? .check(options) : .run(options) }
        guard !isCheck, options == DaemonOptions(configuration: options.configuration) else {
            throw fault("--verify allows no other option but --config")
        }
        return .verify(verified, options)
    }

    private mutating func take(
        _ name: String, _ value: String?, into option: WritableKeyPath<DaemonOptions, String?>
    ) throws(DaemonCommand.UsageFault) {
        options[keyPath: option] = try self.value(name, value, options[keyPath: option])
    }

    private mutating func value(
        _ name: String, _ value: String?, _ earlier: String?
    ) throws(DaemonCommand.UsageFault) -> String {
        guard earlier == nil else { throw fault("\(name) is given twice") }
        guard let value = value ?? rest.popFirst(), !value.isEmpty else { throw fault("\(name) needs a value") }
        return value
    }

    private static func split(_ argument: String) -> (name: String, value: String?) {
        guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else { return (argument, nil) }
        return (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
    }

    private func fault(_ message: String) -> DaemonCommand.UsageFault {
        DaemonCommand.UsageFault(message: message)
    }
}

/// The options of the daemon's command line.
public struct DaemonOptions: Equatable, Sendable {
    /// `--config`: the path of the configuration file, or nil for the default configuration.
    public var configuration: String?
    /// `--socket`: the path of the socket, or nil.
    public var socket: String?
    /// `--data`: the data directory, or nil.
    public var dataDirectory: String?

    public init(configuration: String? = nil, socket: String? = nil, dataDirectory: String? = nil) {
        self.configuration = configuration
        self.socket = socket
        self.dataDirectory = dataDirectory
    }
}

/// The configuration that applies without a configuration file. It is useful at once.
public enum DefaultConfiguration {
    /// One dispatcher `collect`, which writes `events.ndjson` into the data directory.
    public static let object: DataObject = [
        "dispatchers": ["collect": ["kind": "file", "path": "events.ndjson"]]
    ]
}
