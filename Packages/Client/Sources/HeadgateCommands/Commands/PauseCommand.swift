import HeadgateData

extension Command {
    private static let reason = Option("--reason", value: "TEXT", "why, for those who look at the barriers")
    private static let flushable = Option("--flushable", "let flushes through all the same")

    /// `headgate pause`.
    static let pause = Command(
        name: "pause", summary: "Hold a dispatcher until it is resumed, also over a restart.",
        operands: [Operand("ID")], options: [reason, flushable, .json],
        notes: "Events are accepted and kept all the same."
    ) { invocation in
        let id = invocation.arguments.operands[0]
        var params: DataObject = ["id": .string(id)]
        params["reason"] = invocation.arguments.value(reason).map { .string($0) }
        if invocation.arguments.has(flushable) { params["flushable"] = true }
        let answer = try invocation.ask([Question(method: "dispatcher.pause", params: params)])[0]
        try invocation.show(answer, else: "\(id) is paused; `headgate resume \(id)` opens the way again.\n")
        return .success
    }
}
