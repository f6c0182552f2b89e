extension Command {
    /// `headgate resume`.
    static let resume = Command(
        name: "resume", summary: "Open the way to a dispatcher that was paused.", operands: [Operand("ID")],
        options: [.json]
    ) { invocation in
        let id = invocation.arguments.operands[0]
        let answer = try invocation.ask([Question(method: "dispatcher.resume", params: ["id": .string(id)])])[0]
        try invocation.show(answer, else: "\(id) is resumed.\n")
        return .success
    }
}
