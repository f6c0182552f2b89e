import Glibc
import HeadgateClient
import HeadgateData
import HeadgateText
import HeadgateWire

extension Command {
    private static let when = Option("--when", value: "RULE", "the condition for the events (required)")
    private static let eraseReason = Option("--reason", value: "TEXT", "the reason, for the daemon's log")
    private static let dryRun = Option("--dry-run", "count the events, and erase nothing")
    private static let yes = Option("--yes", "erase without asking for confirmation")

    /// The command `headgate erase`.
    static let erase = Command(
        name: "erase",
        summary: "Erase events for all dispatchers, also their bytes in the data directory.",
        options: [when, eraseReason, dryRun, yes, .json],
        notes: """
            A rule is a comparison, like 'data.user.id = "4711"', or comparisons joined by and, or, not and parentheses.
            Operators: = != < <= > >= ~ (regular expression) !~, and words like starts_with and contains; i= and i~ ignore the
            case of letters; 'data.user is defined', 'data.user is not empty'. A JSON rule, or the id of a load rule, may be
            given instead.

            The command waits until the bytes are gone. Destinations and files of `file` dispatchers keep their copies.
            Without a terminal, --yes is required.
            """
    ) { invocation in
        var params = try eraseParams(invocation.arguments)
        params["dry_run"] = true
        let count = try askShowingProgress(params, invocation)
        if invocation.arguments.has(dryRun) {
            try invocation.show(count, else: EraseText.counted(count, " would be erased.") + "\n")
            return .success
        }
        guard try invocation.arguments.has(yes) || confirm(count, invocation.terminal) else { return .failure }
        params["dry_run"] = false
        let answer = try askShowingProgress(params, invocation)
        try invocation.show(answer, else: EraseText.done(answer))
        return .success
    }

    /// Calls the method, and shows the progress of the erasure under way on a terminal. Another one may be before it.
    private static func askShowingProgress(_ params: DataObject, _ invocation: Invocation) throws -> DataObject {
        let terminal = invocation.terminal
        defer { terminal.clearProgress() }
        return try invocation.ask([Question(method: "store.erase", params: params)]) { connection in
            guard terminal.showsProgress else { return }
            connection.watch([.outcomes]) { news in
                guard case .changed(let params) = news, let erasure = params.member("erasure"),
                    let text = EraseText.progress(erasure)
                else { return }
                terminal.showProgress(text)
            }
        }[0]
    }

    private static func eraseParams(_ arguments: Arguments) throws(UsageError) -> DataObject {
        guard let text = arguments.value(when) else {
            throw UsageError(message: "erase: --when RULE is missing", command: "erase")
        }
        var params = DataObject()
        do throws(RuleText.Fault) { params["when"] = try RuleText.parse(text) } catch {
            throw UsageError(
                message: "erase: --when: \(error.description), at character \(error.offset + 1)", command: "erase")
        }
        params["reason"] = arguments.value(eraseReason).map { .string($0) }
        return params
    }

    /// Asks on the terminal.
    private static func confirm(_ count: DataObject, _ terminal: Terminal) throws -> Bool {
        guard isatty(terminal.input) == 1 else {
            throw UsageError(
                message: "erase: standard input is not a terminal; give --yes to erase without a question",
                command: "erase")
        }
        try terminal.write(EraseText.counted(count, " will be erased, for all dispatchers. Type yes to continue: "))
        return readLine() == "yes"
    }
}

/// Describes an erasure.
enum EraseText {
    /// Describes the progress that a watch reports; nil if there is none.
    static func progress(_ erasure: JSONView) -> String? {
        guard let step = erasure.member("step")?.string, let events = erasure.member("events")?.int.map(Int.init) else {
            return nil
        }
        let count = Quantity.counted(events, "event")
        guard step != "removing" else { return "\(count) erased; removing their bytes from the files" }
        guard let position = erasure.member("seq")?.int, let last = erasure.member("last_seq")?.int else { return nil }
        let percent = last > 0 ? min(100, position * 100 / last) : 100
        return "\(count) \(step == "counting" ? "found" : "erased"); \(percent) % of the store is scanned"
    }

    /// Returns the counts with a verb.
    static func counted(_ answer: DataObject, _ rest: String) -> String {
        Quantity.counted(answer.get(key: "events") ?? 0, "event") + " and "
            + Quantity.counted(answer.get(key: "dead_letters") ?? 0, "dead letter") + rest
    }

    static func done(_ answer: DataObject) -> String {
        let dispatchers: [String] = answer.get(key: "not_reached") ?? []
        let rest =
            dispatchers.isEmpty
            ? ""
            : "The destinations and files of these dispatchers keep their copies: \(dispatchers.joined(separator: ", ")).\n"
        return counted(answer, " erased. No file of the store has their bytes.\n") + rest
    }
}
