import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

extension Command {
    private static let stdin = Option("--stdin", "read events from standard input, one JSON object per line")
    private static let follow = Option(
        "--follow", value: "FILE", "follow a file as it grows, or a named pipe, or files by a pattern; repeatable")
    private static let journal = Option(
        "--journal", "follow systemd's journal; the operands are matches such as _SYSTEMD_UNIT=nginx.service")
    private static let state = Option(
        "--state", value: "FILE",
        "the file for the position (default: in $STATE_DIRECTORY, or $XDG_STATE_HOME/headgate/follow)"
    )

    private static let keyFile = Option(
        FollowKeys.option, value: "FILE", "encrypt the position and the lines of a pipe with the first key of a file")
    private static let decrypt = Option(
        "--decrypt", "use the keys to read only, and store the position and the lines of a pipe in plain")

    private static let logfmt = Option("--logfmt", "each line has pairs like level=info msg=\"signed up\"")
    private static let line = Option("--line", "each line is any text, which becomes the event's message")
    private static let event = Option(
        "--event", value: "NAME", "the events' name, with --logfmt, --line or --journal (log)")

    private static let follows: @Sendable (Arguments) -> Bool = { $0.has(follow) || $0.has(journal) }

    /// The command `headgate send`.
    static let send = Command(
        name: "send", summary: "Track an event, or many events from standard input or a file.",
        operands: [Operand("EVENT", .optional), Operand("KEY=VALUE", .any)],
        options: EventOptions.all + [stdin, follow, journal, state, keyFile, decrypt, logfmt, line, event, .json],
        notes: """
            A VALUE that is JSON (1.50, true, null, {…}, […], "text in quotes") is sent as JSON, any other VALUE as a string.
            The command prints the event's id once the daemon has stored the event. If no dispatcher accepts the event, it is
            not stored: the command prints no id, and the exit code is 1.

            With --stdin each line is an object: {"event": "signup", "data": {"plan": "pro"}}. It may have the members id,
            key, time, dispatchers and ttl_ms. A bad line is reported with its number and skipped. Events that the daemon
            refuses for a time, because of a full store or another temporary limit, are sent again until they are stored.
            If the daemon restarts meanwhile, no event is lost and none is tracked twice.

            With --logfmt or --line the lines are not JSON. Each line becomes an event named log, or NAME with --event NAME. Its
            data has the line's pairs, or the line as `message`. A pair time, ts or timestamp (RFC 3339) sets the event's time.

            With --follow the command runs until SIGTERM. After a kill it continues at its position: each line is stored
            once. It reads a renamed file to its end, then the files renamed since, then the new file of that name. It reads
            a truncated file from its start. Lines written within a moment before a file is truncated can be lost.
            A bad line is reported with its position and skipped. Lines that a full store or disk refuses are sent again. If
            none of a file's first 100 lines is an event, the file has another format: the command ends with exit code 1,
            and its position is unchanged.
            Several files may be followed, each with a position of its own: give --follow again, or a pattern in quotes, such
            as '/var/log/app/*.log'. Files that match later are followed, too. A file that cannot be followed is reported, and
            the other files are still followed.
            The command keeps running when the writers of a named pipe close it. A file beside that of the position, with -lines
            at the end of its name, has the lines of the pipe until they are stored.
            With --key-file this file and that of the position are encrypted. A key file has a key on each line: a number, and
            64 hexadecimal digits. The first key encrypts, and all decrypt.

            With --journal the command tracks the entries of systemd's journal, from now on and then from its position on. It
            runs journalctl, so its user must be allowed to read the journal. Each entry is an event named log, with message,
            level, unit, identifier, pid and the other fields as data, and its time.
            """,
        runsOn: follows
    ) { invocation in
        let arguments = invocation.arguments
        if [stdin, follow, journal].contains(where: arguments.has), let option = EventOptions.given(in: arguments) {
            throw UsageError(
                message: "send: \(option.name) applies to a single EVENT; a line has these members itself",
                command: "send")
        }
        let format = try lineFormat(arguments)
        if !follows(arguments), let option = [keyFile, decrypt].first(where: arguments.has) {
            throw UsageError(message: "send: \(option.name) needs --follow or --journal", command: "send")
        }
        if arguments.has(journal) { return try followJournal(invocation, format) }
        if arguments.has(follow) { return try followFile(invocation, format) }
        if arguments.has(stdin) { return try sendLines(invocation, format) }
        return try sendOne(invocation)
    }

    private static func lineFormat(_ arguments: Arguments) throws -> LineFormat {
        var format = LineFormat()
        let given = [logfmt, line, event].filter(arguments.has)
        if let option = given.first, ![stdin, follow, journal].contains(where: arguments.has) {
            throw UsageError(message: "send: \(option.name) needs --stdin, --follow or --journal", command: "send")
        }
        if arguments.has(journal) { format.syntax = .journal }
        if arguments.has(journal), let option = [stdin, follow, logfmt, line].first(where: arguments.has) {
            throw UsageError(message: "send: give only one of --journal and \(option.name)", command: "send")
        }
        if arguments.has(logfmt), arguments.has(line) {
            throw UsageError(message: "send: give only one of --logfmt and --line", command: "send")
        }
        if arguments.has(logfmt) { format.syntax = .logfmt }
        if arguments.has(line) { format.syntax = .text }
        guard let name = arguments.value(event) else { return format }
        guard format.syntax != .json else {
            throw UsageError(
                message: "send: --event needs --logfmt, --line or --journal; a JSON line has its own name",
                command: "send")
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
        invocation.terminal.printError("no dispatcher accepts this event: it was not stored")
        return .failure
    }

    private static func followFile(_ invocation: Invocation, _ format: LineFormat) throws -> ExitCode {
        let arguments = invocation.arguments
        guard arguments.operands.isEmpty, !arguments.has(stdin) else {
            throw UsageError(message: "send: give only one of EVENT, --stdin and --follow", command: "send")
        }
        let names = arguments.values(follow)
        guard !arguments.has(state) || FollowNames(names).isSingle else {
            throw UsageError(message: "send: --state needs a single file, without a pattern", command: "send")
        }
        return try FollowRun(names, format, try storage(invocation), invocation).run()
    }

    private static func followJournal(_ invocation: Invocation, _ format: LineFormat) throws -> ExitCode {
        try JournalFollower(invocation.arguments.operands, format, try storage(invocation), invocation).run()
    }

    private static func storage(_ invocation: Invocation) throws -> FollowStorage {
        let arguments = invocation.arguments
        var storage = FollowStorage(path: arguments.value(state))
        if let path = arguments.value(keyFile) {
            storage.keyring = try FollowKeys.read(path, encrypts: !arguments.has(decrypt), invocation.terminal)
        } else if arguments.has(decrypt) {
            throw UsageError(message: "send: --decrypt needs --key-file", command: "send")
        }
        return storage
    }

    private static func sendLines(_ invocation: Invocation, _ format: LineFormat) throws -> ExitCode {
        guard invocation.arguments.operands.isEmpty else {
            throw UsageError(message: "send: give only one of EVENT and --stdin", command: "send")
        }
        return try LineSender(format, on: EventLoop(), invocation).run()
    }
}

/// The options of `headgate send` that set members of one event.
enum EventOptions {
    private static let id = Option(
        "--id", value: "EVENT-ID", "the event's id; an event with the same id is stored only once")
    private static let key = Option(
        "--key", value: "KEY", "the event's key; events with the same key are delivered in order")
    private static let time = Option("--time", value: "TIME", "the time of the event (RFC 3339; default: now)")
    private static let timeToLive = Option(
        "--ttl", value: "DURATION", "the event's time to live: 500ms, 90s, 15m, 1h, 2d")
    private static let dispatcher = Option(
        "--dispatcher", value: "ID", "send the event only to this dispatcher; repeatable")

    static let all = [id, key, time, timeToLive, dispatcher]

    /// Returns the first of these options that was given, or nil.
    static func given(in arguments: Arguments) -> Option? {
        all.first(where: arguments.has)
    }

    /// Makes the event that the command line describes.
    static func event(_ arguments: Arguments) throws(UsageError) -> OutgoingEvent {
        guard let name = arguments.operands.first else {
            throw UsageError(message: "send: EVENT, --stdin or --follow is missing", command: "send")
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
                throw UsageError(message: "send: \(pair) is not of the form KEY=VALUE", command: "send")
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
