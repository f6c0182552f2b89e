import HeadgateClient
import HeadgateData
import HeadgateText

extension Command {
    private static let peekLimit = Option("--limit", value: "N", "the most events to show (default: 10)")
    private static let peekAfter = Option("--after", value: "SEQ", "start after this sequence number")

    /// The command `headgate peek`.
    static let peek = Command(
        name: "peek", summary: "Show the next pending events of a dispatcher without removing them.",
        operands: [Operand("ID")], options: [peekLimit, peekAfter, .json],
        notes: "Events are shown as stored: transformations before sending are not applied."
    ) { invocation in
        let id = invocation.arguments.operands[0]
        var params: DataObject = ["dispatcher": .string(id)]
        params["limit"] = try invocation.arguments.number(peekLimit, from: 1, of: "peek")
        params["after"] = try invocation.arguments.number(peekAfter, from: 0, of: "peek")
        let answer = try invocation.ask([Question(method: "queue.peek", params: params)])[0]
        let words = QueueText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(answer, else: words.list(try PeekedEvents(answer), of: id))
        return .success
    }

    private static let dispatcher = Option("--dispatcher", value: "ID", "only dead letters of this dispatcher")
    private static let limit = Option("--limit", value: "N", "the most dead letters to show (default: 100)")
    private static let after = Option("--after", value: "LETTER", "start after this dead letter")
    private static let selectionNote =
        "Without numbers and without --dispatcher, the command affects all dead letters. Unknown numbers are ignored."

    /// The command `headgate dead-letters list`, whose second word may be left out.
    static let deadLettersList = Command(
        name: "dead-letters list", summary: "List dead letters, oldest first.",
        options: [dispatcher, limit, after, .json], notes: "`list` is optional."
    ) { invocation in
        var params = DataObject()
        params["dispatcher"] = invocation.arguments.value(dispatcher).map { .string($0) }
        params["limit"] = try invocation.arguments.number(limit, from: 1, of: "dead-letters list")
        params["after"] = try invocation.arguments.number(after, from: 0, of: "dead-letters list")
        let answer = try invocation.ask([Question(method: "dead_letters.list", params: params)])[0]
        let words = DeadLetterText(clock: invocation.clock, style: invocation.terminal.style)
        try invocation.show(answer, else: words.list(try DeadLetterPage(answer)))
        return .success
    }

    /// The command `headgate dead-letters requeue`.
    static let deadLettersRequeue = Command(
        name: "dead-letters requeue", summary: "Requeue dead letters for their dispatchers.",
        operands: [Operand("LETTER", .any)], options: [dispatcher, .json], notes: selectionNote
    ) { invocation in
        let answer = try ask(invocation, "dead_letters.requeue", "dead-letters requeue")
        try invocation.show(answer, else: "\(counted(answer)) requeued.\n")
        guard isIncomplete(answer, invocation) else { return .success }
        invocation.terminal.printError(
            "some dead letters were not requeued: they no longer exist, or their dispatcher is not configured. "
                + "`headgate dead-letters` lists the rest. Configure their dispatcher again, or let a new dispatcher take them "
                + "over with \"formerly\"")
        return .failure
    }

    /// Returns true if named dead letters were not requeued, or if none was although there are some. The latter cannot
    /// be known for a user who may not read events.
    private static func isIncomplete(_ answer: DataObject, _ invocation: Invocation) -> Bool {
        let count: Int = answer.get(key: "count") ?? 0
        let named = Set(invocation.arguments.operands).count
        if named > 0 { return count < named }
        guard count == 0 else { return false }
        var params: DataObject = ["limit": 1]
        params["dispatcher"] = invocation.arguments.value(dispatcher).map { .string($0) }
        let rest = try? invocation.ask([Question(method: "dead_letters.list", params: params)])[0]
        return !(rest?.get(key: "dead_letters", as: [DataObject].self) ?? []).isEmpty
    }

    /// The command `headgate dead-letters purge`.
    static let deadLettersPurge = Command(
        name: "dead-letters purge", summary: "Delete dead letters permanently.",
        operands: [Operand("LETTER", .any)], options: [dispatcher, .json], notes: selectionNote
    ) { invocation in
        let answer = try ask(invocation, "dead_letters.purge", "dead-letters purge")
        try invocation.show(answer, else: "\(counted(answer)) deleted.\n")
        return .success
    }

    private static func ask(_ invocation: Invocation, _ method: String, _ command: String) throws -> DataObject {
        let deadLetters = try invocation.arguments.numbers(as: "LETTER", of: command)
        var params = DataObject()
        params["dispatcher"] = invocation.arguments.value(dispatcher).map { .string($0) }
        if !deadLetters.isEmpty { params["letters"] = .array(deadLetters) }
        return try invocation.ask([Question(method: method, params: params)])[0]
    }

    /// Returns the count with a verb: `1 dead letter is`, `2 dead letters are`.
    private static func counted(_ answer: DataObject) -> String {
        let count: Int = answer.get(key: "count") ?? 0
        return Quantity.counted(count, "dead letter") + (count == 1 ? " is" : " are")
    }
}

/// Shows pending events.
struct QueueText {
    let clock: WallClock
    let style: Style

    /// The most columns of an event's data in a line.
    static let dataWidth = 60

    /// Returns a dispatcher's events as a table, in order.
    func list(_ page: PeekedEvents, of dispatcher: String) -> String {
        guard !page.events.isEmpty else { return "No events are pending.\n" }
        var table = Table([
            .init("SEQ", isNumeric: true), .init("EVENT"), .init("ID"), .init("KEY"), .init("RECEIVED"),
            .init("ATTEMPT", isNumeric: true), .init("DATA"),
        ])
        for event in page.events { table.add(row(event)) }
        guard let next = page.next else { return table.text(style) }
        return table.text(style) + "\nThere are more: `headgate peek \(dispatcher) --after \(next)` shows them.\n"
    }

    private func row(_ event: DataObject) -> [Table.Cell] {
        [
            .init(event.get(key: "seq", as: Int.self).map(String.init) ?? ""),
            .init(event.get(key: "event") ?? "", .strong), .init(event.get(key: "id") ?? ""),
            .init(event.get(key: "key") ?? ""), .init(clock.localised(event.get(key: "received_at") ?? "")),
            .init(event.get(key: "attempt", as: Int.self).map(String.init) ?? ""),
            .init(TextWidth.cut((event["data"] ?? .null).json, to: QueueText.dataWidth), .faint),
        ]
    }
}

/// Shows dead letters and their reasons.
struct DeadLetterText {
    let clock: WallClock
    let style: Style

    /// Returns the dead letters as a table, oldest first, and the command that shows the next ones.
    func list(_ page: DeadLetterPage) -> String {
        guard !page.deadLetters.isEmpty else { return "There are no dead letters.\n" }
        var table = Table([
            .init("LETTER", isNumeric: true), .init("DISPATCHER"), .init("REASON"), .init("STATUS", isNumeric: true),
            .init("ATTEMPTS", isNumeric: true), .init("DEAD SINCE"), .init("EVENT"), .init("ID"), .init("LAST ANSWER"),
        ])
        for deadLetter in page.deadLetters { table.add(row(deadLetter)) }
        guard let next = page.next else { return table.text(style) }
        return table.text(style) + "\nThere are more: `headgate dead-letters --after \(next)` shows them.\n"
    }

    private func row(_ deadLetter: ListedDeadLetter) -> [Table.Cell] {
        let event = deadLetter.event ?? [:]
        return [
            .init(String(deadLetter.number)), .init(deadLetter.dispatcher, .strong), .init(deadLetter.reason, .bad),
            .init(deadLetter.status.map(String.init) ?? "–"), .init(deadLetter.attempts),
            .init(deadLetter.diedAt.map(clock.text) ?? "–"),
            deadLetter.event == nil ? .init("damaged", .bad) : .init(event.get(key: "event") ?? ""),
            .init(event.get(key: "id") ?? ""),
            .init(TextWidth.cut(deadLetter.answer ?? "", to: QueueText.dataWidth), .faint),
        ]
    }
}
