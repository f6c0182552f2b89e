import HeadgateClient
import HeadgateData
import HeadgateWire

extension Command {
    private static let stdin = Option("--stdin", "read events from standard input, one object a line")
    private static let follow = Option("--follow", value: "FILE", "read them from a file as it grows, or a named pipe")
    private static let state = Option(
        "--state", value: "FILE",
        "where --follow keeps how far it came (a file in $STATE_DIRECTORY, or $XDG_STATE_HOME/headgate/follow)")

    private static let logfmt = Option("--logfmt", "each line has pairs like level=info msg=\"signed up\"")
    private static let line = Option("--line", "each line is any text, which becomes the event's message")
    private static let event = Option("--event", value: "NAME", "the events' name, with --logfmt or --line (log)")

    private static let follows: @Sendable (Arguments) -> Bool = { $0.has(follow) }

    /// The command `headgate send`.
    static let send = Command(
        name: "send", summary: "Track an event, or many from standard input.",
        operands: [Operand("EVENT", .optional), Operand("KEY=VALUE", .any)],
        options: EventOptions.all + [stdin, follow, state, logfmt, line, event, .json],
        notes: """
            A value that is JSON (1.50, true, null, {…}, […], "text in quotes") is sent as that, any other as a string.
            The event's id is printed once the daemon has stored it. If no dispatcher wants the event, it is not stored: no id
            is printed, and the exit code is 1.

            With --stdin each line is an object: {"event": "signup", "data": {"plan": "pro"}}, with further members if
            you like: id, key, time, dispatchers, ttl_ms. A bad line is told with its number; the rest goes on. Events that a
            full store, or another temporary limit, refuses are sent again until they are stored.
            When the daemon restarts meanwhile, nothing is lost and nothing is tracked twice.

            With --logfmt or --line the lines need not be JSON: each becomes an event named log, or as --event says, with
            the line's pairs, or the line as its message, as data. A pair time, ts or timestamp in RFC 3339 is the event's time.

            With --follow it goes on until SIGTERM, and after a kill where it was: each line is stored once. A file that is
            renamed is read to its end, then those that were renamed since, then the new one of its name; one that is
            emptied is read from its beginning. What is written within a moment before a file is emptied can be lost.
            A bad line is told with its position and skipped. A line that a full store or disk refuses is sent again. If none of
            a file's first 100 lines is an event, it has another format: the exit code is 1, and the position stays.
            A named pipe is followed as its writers come and go; its lines are kept in FILE.headgate-lines until they are stored.
            """,
        runsOn: follows
    ) { invocation in
        let arguments = invocation.arguments
        if arguments.has(stdin) || arguments.has(follow), let option = EventOptions.given(in: arguments) {
            throw UsageError(
                message: "send: \(option.name) is for one EVENT; a line has its own members", command: "send")
        }
        let format = try lineFormat(arguments)
        if arguments.has(follow) { return try followFile(invocation, format) }
        if arguments.has(stdin) { return try sendLines(invocation, format) }
        return try sendOne(invocation)
    }

    private static func lineFormat(_ arguments: Arguments) throws -> LineFormat {
        var format = LineFormat()
        let given = [logfmt, line, event].filter(arguments.has)
        if let option = given.first, !arguments.has(stdin), !arguments.has(follow) {
            throw UsageError(message: "send: \(option.name) is for lines, with --stdin or --follow", command: "send")
        }
        if arguments.has(logfmt), arguments.has(line) {
            throw UsageError(message: "send: either --logfmt or --line", command: "send")
        }
        if arguments.has(logfmt) { format.syntax = .logfmt }
        if arguments.has(line) { format.syntax = .text }
        guard let name = arguments.value(event) else { return format }
        guard format.syntax != .json else {
            throw UsageError(message: "send: --event needs --logfmt or --line: a JSON line has a name", command: "send")
        }
        format.event = name
        return format
    }

    private static func sendOne(_ invocation: Invocation) throws -> ExitCode {
        let answer = try invocation.track(try EventOptions.event(invocation.arguments))
        let isUnrouted = answer.get(key: "unrouted") == true
        if !isUnrouted || invocation.arguments.has(.json) {
            try invocation.show(answer, else: (answer.get(key: "id") ?? "") + "\n")
        }
        guard isUnrouted else { return .success }
        invocation.terminal.printError("no dispatcher wants this event: it was not stored")
        return .failure
    }

    private static func followFile(_ invocation: Invocation, _ format: LineFormat) throws -> ExitCode {
        guard invocation.arguments.operands.isEmpty, !invocation.arguments.has(stdin),
            let path = invocation.arguments.value(follow)
        else { throw UsageError(message: "send: either EVENT, --stdin or --follow", command: "send") }
        return try Follower(path, format, state: invocation.arguments.value(state), invocation).run()
    }

    private static func sendLines(_ invocation: Invocation, _ format: LineFormat) throws -> ExitCode {
        guard invocation.arguments.operands.isEmpty else {
            throw UsageError(message: "send: either EVENT or --stdin", command: "send")
        }
        return try LineSender(format, invocation).run()
    }
}

/// The options of `headgate send` that set members of one event.
enum EventOptions {
    private static let id = Option(
        "--id", value: "EVENT-ID", "the event's id: it is stored once, however often it is sent")
    private static let key = Option("--key", value: "KEY", "events of one key are delivered in their order")
    private static let time = Option("--time", value: "TIME", "when it happened, if that is not now (RFC 3339)")
    private static let timeToLive = Option(
        "--ttl", value: "DURATION", "how long it is worth delivering: 500ms, 90s, 15m, 1h, 2d")
    private static let dispatcher = Option(
        "--dispatcher", value: "ID", "only for this dispatcher; may be given several times")

    static let all = [id, key, time, timeToLive, dispatcher]

    /// Returns the first of these options that was given, or nil.
    static func given(in arguments: Arguments) -> Option? {
        all.first(where: arguments.has)
    }

    /// Makes the event that the command line describes.
    static func event(_ arguments: Arguments) throws(UsageError) -> OutgoingEvent {
        guard let name = arguments.operands.first else {
            throw UsageError(message: "send: neither EVENT nor --stdin", command: "send")
        }
        let dispatchers = arguments.values(dispatcher)
        return OutgoingEvent(
            name, data: try EventData.parse(arguments.operands.dropFirst()), id: arguments.value(id),
            key: arguments.value(key), time: try time(arguments), dispatchers: dispatchers.isEmpty ? nil : dispatchers,
            timeToLive: try timeToLive(arguments))
    }

    private static func time(_ arguments: Arguments) throws(UsageError) -> Timestamp? {
        guard let text = arguments.value(time) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw UsageError(message: "send: --time \(text) is not a time like 2026-03-01T10:00:00Z", command: "send")
        }
        return time
    }

    private static func timeToLive(_ arguments: Arguments) throws(UsageError) -> Duration? {
        guard let text = arguments.value(timeToLive) else { return nil }
        guard let length = TimeSpan.milliseconds(text) else {
            throw UsageError(message: "send: --ttl \(text) is not \(TimeSpan.examples)", command: "send")
        }
        return .milliseconds(length)
    }
}

/// Reads the data of an event from the command line.
enum EventData {
    /// Reads `key=value` pairs. If several pairs have one key, the last one counts.
    static func parse(_ pairs: some Sequence<String>) throws(UsageError) -> DataObject {
        var data = DataObject()
        for pair in pairs {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw UsageError(message: "send: \(pair) is not KEY=VALUE", command: "send")
            }
            data[parts[0]] = value(parts[1])
        }
        return data
    }

    /// Reads JSON with all its digits (Behaviour P6), and any other text as a string.
    private static func value(_ text: String) -> DataItem {
        do throws(JSONFault) {
            return try DataItem(parsing: Array(text.utf8))
        } catch {
            return .string(text)
        }
    }
}
