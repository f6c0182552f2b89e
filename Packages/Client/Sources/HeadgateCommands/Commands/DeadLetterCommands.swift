import HeadgateClient
import HeadgateData

extension Command {
    private static let dispatcher = Option("--dispatcher", value: "ID", "only those of one dispatcher")
    private static let limit = Option("--limit", value: "N", "how many (default: 100)")
    private static let after = Option("--after", value: "LETTER", "only those behind this one")
    private static let selectionNote =
        "Without letters' numbers and without a dispatcher all are meant. What is not there is not counted."

    /// `headgate dead-letters list`, or without the second word.
    static let deadLettersList = Command(
        name: "dead-letters list", summary: "Show the events that dispatchers gave up, the oldest first.",
        options: [dispatcher, limit, after, .json], notes: "`list` may be left out."
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

    /// `headgate dead-letters requeue`.
    static let deadLettersRequeue = Command(
        name: "dead-letters requeue", summary: "Send dead letters again, to the dispatchers that gave them up.",
        operands: [Operand("LETTER", .any)], options: [dispatcher, .json], notes: selectionNote
    ) { invocation in
        let answer = try ask(invocation, "dead_letters.requeue", "dead-letters requeue")
        try invocation.show(answer, else: "\(counted(answer)) in the queue again.\n")
        return .success
    }

    /// `headgate dead-letters purge`.
    static let deadLettersPurge = Command(
        name: "dead-letters purge", summary: "Delete dead letters for good.",
        operands: [Operand("LETTER", .any)], options: [dispatcher, .json], notes: selectionNote
    ) { invocation in
        let answer = try ask(invocation, "dead_letters.purge", "dead-letters purge")
        try invocation.show(answer, else: "\(counted(answer)) deleted.\n")
        return .success
    }

    private static func ask(_ invocation: Invocation, _ method: String, _ command: String) throws -> DataObject {
        let letters = try invocation.arguments.numbers(as: "LETTER", of: command)
        var params = DataObject()
        params["dispatcher"] = invocation.arguments.value(dispatcher).map { .string($0) }
        if !letters.isEmpty { params["letters"] = .array(letters) }
        return try invocation.ask([Question(method: method, params: params)])[0]
    }

    /// `1 dead letter is`, `2 dead letters are`.
    private static func counted(_ answer: DataObject) -> String {
        let count: Int = answer.get(key: "count") ?? 0
        return Quantity.counted(count, "dead letter") + (count == 1 ? " is" : " are")
    }
}
