/// What a collector does with one request.
struct ScriptedAnswer: Sendable {
    var status = 200
    var headers: [String] = []
    var body = ""
    /// How long the answer takes.
    var delay = Duration.zero
    /// The answer waits for `Collector.release()`.
    var isHeld = false
    /// The connection is closed in place of an answer.
    var hangsUp = false

    static let accepted = ScriptedAnswer()
    static let held = ScriptedAnswer(isHeld: true)
    static func status(_ status: Int) -> ScriptedAnswer { ScriptedAnswer(status: status) }
}
