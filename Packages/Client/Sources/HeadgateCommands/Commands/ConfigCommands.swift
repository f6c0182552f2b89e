import Glibc
import HeadgateData

extension Command {
    private static let layer = Option(
        "--layer", value: "LAYER", "only those of one layer: file, remote or programmatic")

    /// `headgate config get`.
    static let configGet = Command(
        name: "config get", summary: "Print the settings in force, secrets blanked.", options: [layer, .json]
    ) { invocation in
        var params = DataObject()
        params["layer"] = invocation.arguments.value(layer).map { .string($0) }
        let answer = try invocation.ask([Question(method: "config.get", params: params)])[0]
        try invocation.show(answer, else: IndentedJSON.text(.object(answer)))
        return .success
    }

    private static let persist = Option("--persist", "keep it over a restart of the daemon")

    /// `headgate config set`.
    static let configSet = Command(
        name: "config set", summary: "Change settings while the daemon runs.",
        operands: [Operand("PATH=JSON", .some)], options: [persist, .json],
        notes: """
            headgate config set barriers.BatchingBarrier.configuration.batch_size=20
            headgate config set 'dispatchers.collect.endpoint="https://example.com/events"' --persist

            All are changed together, or none. A key with dots in it stands in quotes: network.interface_kinds."a.b".
            PATH=null takes back what was set so; what the configuration file says there counts again.
            """
    ) { invocation in
        let patch = try SettingsPatch.parse(invocation.arguments.operands)
        let persists = invocation.arguments.has(persist)
        let question = Question(method: "config.set", params: ["patch": .object(patch), "persist": .bool(persists)])
        let answer = try invocation.ask([question])[0]
        let until = persists ? "also after a restart" : "until the daemon restarts; --persist keeps it longer"
        try invocation.show(answer, else: "It is in force, \(until).\n")
        return .success
    }

    /// `headgate config reload`.
    static let configReload = Command(
        name: "config reload", summary: "Have the daemon read its configuration file again.",
        options: [.json],
        notes:
            "It tells which settings have changed. When the file has faults nothing changes, and each is told with its place."
    ) { invocation in
        let answer = try invocation.ask([Question(method: "config.reload")])[0]
        let changed: [String] = answer.get(key: "changed") ?? []
        let list = changed.map { "changed: \(PlainText.line($0))\n" }.joined()
        try invocation.show(answer, else: changed.isEmpty ? "Nothing has changed.\n" : list)
        return .success
    }

    /// `headgate config check`.
    static let configCheck = Command(
        name: "config check", summary: "Tell what is wrong with a configuration file; exit 1 if anything is.",
        operands: [Operand("FILE")],
        notes: "This runs `headgated --config FILE --check`; no daemon needs to be there."
    ) { invocation in
        throw DaemonProgram.become(["--config", invocation.arguments.operands[0], "--check"])
    }
}

/// The daemon's program, `headgated`.
enum DaemonProgram {
    static let name = "headgated"

    /// Becomes the daemon's program with these arguments: its output and its exit code are then this process's.
    /// Returns only to say why that is not possible.
    static func become(_ arguments: [String]) -> Failure {
        guard let path = find() else { return .notFound }
        // What is ignored stays so in the new program.
        signal(SIGPIPE, SIG_DFL)
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        execv(path, &words)
        let code = errno
        for word in words { free(word) }
        return .cannotRun(path: path, code: code)
    }

    /// Why the daemon's program does not run.
    enum Failure: Error, Equatable, CustomStringConvertible {
        /// It is nowhere.
        case notFound
        /// It is there and does not run.
        case cannotRun(path: String, code: Int32)

        var description: String {
            switch self {
            case .notFound: "there is no \(DaemonProgram.name), neither beside headgate nor in $PATH"
            case .cannotRun(let path, let code): "cannot run \(path): \(String(cString: strerror(code)))"
            }
        }
    }

    /// Where it may be: beside this program, then in the directories of `searchPath`.
    static func candidates(beside executable: String?, searchPath: String?) -> [String] {
        let own = executable.flatMap { path in path.lastIndex(of: "/").map { String(path[..<$0]) } }
        let others = (searchPath ?? "").split(separator: ":").map(String.init)
        return ([own].compactMap { $0 } + others).map { "\($0)/\(name)" }
    }

    private static func find() -> String? {
        candidates(beside: executable, searchPath: getenv("PATH").map { String(cString: $0) })
            .first { access($0, X_OK) == 0 }
    }

    /// The path of this process's program; nil if the kernel does not tell.
    private static var executable: String? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }
}
