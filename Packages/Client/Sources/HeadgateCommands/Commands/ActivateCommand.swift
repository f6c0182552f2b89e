import HeadgateData
import HeadgateWire

extension Command {
    private static let input = Option("--input", value: "JSON", "the input of the board")
    private static let mainboard = Option(
        "--mainboard", value: "NAME", "the mainboard that the activation belongs to (default: this user's)")
    private static let wait = Option(
        "--wait", value: "MS", "time to wait for a client that serves the board, in milliseconds (default: 0)")
    private static let timeout = Option(
        "--timeout", value: "MS", "time limit of the running board, in milliseconds (default: 30000)")

    /// The command `headgate activate`.
    static let activate = Command(
        name: "activate", summary: "Activate a board and print its output; exit 1 unless it completes.",
        operands: [Operand("BOARD")], options: [input, mainboard, wait, timeout, .json],
        notes: "The board runs once its barriers have completed."
    ) { invocation in
        let params = try activationParams(invocation.arguments)
        let answer = try invocation.ask([Question(method: "board.activate", params: params)])[0]
        let words = words(for: answer["output"])
        try invocation.show(answer, else: invocation.terminal.showsOutput ? PlainText.lines(words) : words)
        return answer["done"] == true ? .success : .failure
    }

    private static func activationParams(_ arguments: Arguments) throws(UsageError) -> DataObject {
        var params: DataObject = ["board": .string(arguments.operands[0])]
        params["mainboard"] = arguments.value(mainboard).map { .string($0) }
        params["wait_ms"] = try arguments.number(wait, from: 0, of: "activate")
        params["timeout_ms"] = try arguments.number(timeout, from: 1, of: "activate")
        guard let text = arguments.value(input) else { return params }
        guard let value = try? DataItem(parsing: Array(text.utf8)) else {
            let hint = "a JSON string needs its own quotes inside the shell's: '\"\(text)\"'"
            throw UsageError(message: "activate: --input \(text) is not JSON; \(hint)", command: "activate")
        }
        params["input"] = value
        return params
    }

    /// Returns the output of a board: a string without quotes, so that a shell can use it, and any other value as JSON.
    private static func words(for output: DataItem?) -> String {
        switch output {
        case nil, .null: ""
        case .string(let text): text + "\n"
        case let output?: output.json + "\n"
        }
    }
}
