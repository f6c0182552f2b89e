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
}
