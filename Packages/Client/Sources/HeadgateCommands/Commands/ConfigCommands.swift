import Glibc
import HeadgateData
import HeadgateWire

extension Command {
    private static let layer = Option(
        "--layer", value: "LAYER", "print one layer only: file, remote or programmatic")

    /// The command `headgate config get`.
    static let configGet = Command(
        name: "config get", summary: "Print the settings in force, with secrets replaced by ***.",
        options: [layer, .json]
    ) { invocation in
        var params = DataObject()
        params["layer"] = invocation.arguments.value(layer).map { .string($0) }
        let answer = try invocation.ask([Question(method: "config.get", params: params)])[0]
        if params.isEmpty, !invocation.arguments.has(.json) { try warnOfWaiting(invocation) }
        let text = IndentedJSON.text(.object(answer))
        try invocation.show(answer, else: invocation.terminal.showsOutput ? PlainText.json(text) : text)
        return .success
    }

    /// Prints the settings that take effect at the next start on standard error. The answer has the values in force.
    private static func warnOfWaiting(_ invocation: Invocation) throws {
        let status = try invocation.ask([Question(method: "status")])[0]
        for warning in SettingsWarnings.ofWaiting(in: status) { invocation.terminal.printError(warning) }
    }

    private static let persist = Option("--persist", "keep the change across restarts of the daemon")

    /// The command `headgate config set`.
    static let configSet = Command(
        name: "config set", summary: "Change settings while the daemon runs.",
        operands: [Operand("PATH=JSON", .some)], options: [persist, .json],
        notes: """
            headgate config set barriers.BatchingBarrier.configuration.batch_size=20
            headgate config set 'dispatchers.collect.endpoint="https://example.com/events"' --persist

            All are changed, or none. A key that contains dots is quoted: network.interface_kinds."a.b".
            PATH=null removes the setting from this layer; the configuration file's value is in force again.
            Settings that take effect only at a start, like durability, need --persist.
            """
    ) { invocation in
        let patch = try SettingsPatch.parse(invocation.arguments.operands)
        let persists = invocation.arguments.has(persist)
        let question = Question(method: "config.set", params: ["patch": .object(patch), "persist": .bool(persists)])
        let answer = try invocation.ask([question])[0]
        try invocation.show(answer, else: confirmation(of: patch, persists: persists, invocation))
        return .success
    }

    /// Returns the text about a change, with the daemon's warnings about the changed settings. A user who may not ask
    /// for the status gets no warnings.
    private static func confirmation(of patch: DataObject, persists: Bool, _ invocation: Invocation) -> String {
        let until = persists ? "and survives restarts" : "until the daemon restarts; --persist keeps it"
        let status = try? invocation.ask([Question(method: "status")])[0]
        let warnings = SettingsWarnings.about(patch, in: status ?? [:])
        guard !warnings.isEmpty else { return "The change is in force \(until).\n" }
        return "The change is set \(until). The daemon warns:\n"
            + warnings.map { "  \(PlainText.line($0))\n" }.joined()
    }

    /// The command `headgate config reload`.
    static let configReload = Command(
        name: "config reload", summary: "Make the daemon read its configuration file again.",
        options: [.json],
        notes:
            """
            Prints the key paths of the changed settings. If the file has faults, nothing changes, and the command prints
            every fault with its key path. Names the settings that take effect at the next start on standard error.
            """
    ) { invocation in
        let answer = try invocation.ask([Question(method: "config.reload")])[0]
        let changed: [String] = answer.get(key: "changed") ?? []
        let list = changed.map { "changed: \(PlainText.line($0))\n" }.joined()
        try invocation.show(answer, else: changed.isEmpty ? "Nothing has changed.\n" : list)
        // A user who may not ask for the status gets no warnings.
        if !invocation.arguments.has(.json) { try? warnOfWaiting(invocation) }
        return .success
    }

    /// The command `headgate config check`.
    static let configCheck = Command(
        name: "config check", summary: "Check a configuration file; exit 1 if it has faults.",
        operands: [Operand("FILE")],
        notes: "This runs `headgated --config FILE --check`. The daemon need not run."
    ) { invocation in
        throw DaemonProgram.become(["--config", invocation.arguments.operands[0], "--check"])
    }
}

/// The program of the daemon, `headgated`.
enum DaemonProgram {
    static let name = "headgated"

    /// Replaces this process by the daemon's program, which then gives output and exit code.
    /// - Returns: the reason, if that is not possible.
    static func become(_ arguments: [String]) -> Failure {
        guard let path = find() else { return .notFound }
        // A new program inherits ignored signals.
        signal(SIGPIPE, SIG_DFL)
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        execv(path, &words)
        let code = errno
        for word in words { free(word) }
        return .cannotRun(path: path, code: code)
    }

    /// Runs the daemon's program. Returns its exit code and output, or nil if it cannot be run.
    static func output(_ arguments: [String]) -> (code: Int32, text: String)? {
        guard let path = find() else { return nil }
        let words = ([path] + arguments).map {
            "'" + $0.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
        }
        guard let pipe = popen(words.joined(separator: " ") + " 2>&1", "r") else { return nil }
        var bytes: [UInt8] = []
        while case let byte = fgetc(pipe), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return (pclose(pipe) >> 8 & 0xFF, String(decoding: bytes, as: UTF8.self))
    }

    /// The reason why the daemon's program does not run.
    enum Failure: Error, Equatable, CustomStringConvertible {
        /// The program was not found.
        case notFound
        /// The program exists but cannot be run.
        case cannotRun(path: String, code: Int32)

        var description: String {
            switch self {
            case .notFound: "cannot find \(DaemonProgram.name), neither beside headgate nor in $PATH"
            case .cannotRun(let path, let code): "cannot run \(path): \(String(cString: strerror(code)))"
            }
        }
    }

    /// Returns the possible paths of the program: beside this program, then in the directories of `searchPath`.
    static func candidates(beside executable: String?, searchPath: String?) -> [String] {
        let own = executable.flatMap { path in path.lastIndex(of: "/").map { String(path[..<$0]) } }
        let others = (searchPath ?? "").split(separator: ":").map(String.init)
        return ([own].compactMap { $0 } + others).map { "\($0)/\(name)" }
    }

    private static func find() -> String? {
        candidates(beside: executable, searchPath: getenv("PATH").map { String(cString: $0) })
            .first { access($0, X_OK) == 0 }
    }

    /// The path of this process's program, or nil if the kernel does not report it.
    private static var executable: String? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }
}

/// Makes the daemon's patch (Behaviour S1) from the operands of `config set`.
enum SettingsPatch {
    /// Makes one patch of `PATH=JSON` words.
    static func parse(_ words: [String]) throws(UsageError) -> DataObject {
        var patch = DataObject()
        var paths: [(path: SettingsPath, word: String)] = []
        for word in words {
            let (path, value) = try assignment(word)
            if let other = paths.first(where: { $0.path.overlaps(path) }) {
                throw fault("\(other.word) and \(word) set overlapping key paths")
            }
            paths.append((path, word))
            patch = adding(value, at: path.keys[...], to: patch)
        }
        return patch
    }

    private static func assignment(_ word: String) throws(UsageError) -> (SettingsPath, DataItem) {
        let (path, text): (SettingsPath, String?)
        do throws(SettingsPath.Fault) {
            (path, text) = try SettingsPath.parse(word)
        } catch {
            throw fault("\(word): \(error.message)")
        }
        guard let text else { throw fault("\(word) is not of the form PATH=JSON") }
        return (path, try value(text, in: word))
    }

    private static func value(_ text: String, in word: String) throws(UsageError) -> DataItem {
        do throws(JSONFault) {
            return try DataItem(parsing: Array(text.utf8))
        } catch {
            let path = word.dropLast(text.count)
            throw fault(
                "\(text) is not JSON; a JSON string needs its own quotes inside the shell's: '\(path)\"\(text)\"'")
        }
    }

    private static func adding(_ value: DataItem, at keys: ArraySlice<String>, to object: DataObject) -> DataObject {
        guard let key = keys.first else { return object }
        var object = object
        let inner = keys.dropFirst()
        object[key] = inner.isEmpty ? value : .object(adding(value, at: inner, to: object.get(key: key) ?? [:]))
        return object
    }

    private static func fault(_ message: String) -> UsageError {
        UsageError(message: "config set: \(message)", command: "config set")
    }
}

/// A key path in the settings: `dispatchers.collect.endpoint`.
private struct SettingsPath {
    /// The keys of the path, at least one.
    let keys: [String]

    /// The reason why a text is no path.
    struct Fault: Error {
        let message: String
    }

    /// Reads a path up to a `=` or the end. A key with dots or `=` is in double quotes: `a."b.c"`.
    /// - Returns: the path, and the text after the `=`, or nil without a `=`.
    static func parse(_ text: String) throws(Fault) -> (path: SettingsPath, value: String?) {
        var rest = Substring(text)
        var keys: [String] = []
        repeat {
            keys.append(try takeKey(&rest))
        } while take(".", &rest)
        let path = SettingsPath(keys: keys)
        if take("=", &rest) { return (path, String(rest)) }
        guard rest.isEmpty else { throw Fault(message: "unexpected text: \(rest)") }
        return (path, nil)
    }

    /// Returns true if the paths are equal or one is inside the other.
    func overlaps(_ other: SettingsPath) -> Bool {
        zip(keys, other.keys).allSatisfy(==)
    }

    private static func takeKey(_ rest: inout Substring) throws(Fault) -> String {
        let key = take("\"", &rest) ? try takeQuoted(&rest) : try takeBare(&rest)
        guard !key.isEmpty else { throw Fault(message: "a key is empty") }
        return key
    }

    private static func takeBare(_ rest: inout Substring) throws(Fault) -> String {
        let key = rest.prefix { $0 != "." && $0 != "=" }
        guard !key.hasSuffix("]") else { throw Fault(message: "arrays are set as a whole") }
        rest.removeFirst(key.count)
        return String(key)
    }

    private static func takeQuoted(_ rest: inout Substring) throws(Fault) -> String {
        guard let end = rest.firstIndex(of: "\"") else { throw Fault(message: "a quote is not closed") }
        defer { rest = rest[rest.index(after: end)...] }
        return String(rest[..<end])
    }

    private static func take(_ character: Character, _ rest: inout Substring) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }
}

/// Prints JSON with one line for each member, for people.
enum IndentedJSON {
    /// Returns a value as text, with a LF at the end.
    static func text(_ item: DataItem) -> String {
        text(item, indent: "") + "\n"
    }

    private static func text(_ item: DataItem, indent: String) -> String {
        let inner = indent + "  "
        switch item {
        case .object(let object) where !object.isEmpty:
            let members = object.map { "\(inner)\(DataItem.string($0.key).json): \(text($0.value, indent: inner))" }
            return "{\n\(members.joined(separator: ",\n"))\n\(indent)}"
        case .array(let items) where items.contains(where: isContainer):
            let elements = items.map { inner + text($0, indent: inner) }
            return "[\n\(elements.joined(separator: ",\n"))\n\(indent)]"
        case .array(let items):
            return "[" + items.map(\.json).joined(separator: ", ") + "]"
        default: return item.json
        }
    }

    private static func isContainer(_ item: DataItem) -> Bool {
        switch item {
        case .object, .array: true
        case .null, .bool, .number, .string: false
        }
    }
}
