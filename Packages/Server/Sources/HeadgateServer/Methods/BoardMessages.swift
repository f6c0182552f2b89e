import HeadgateCore
import HeadgateData
import HeadgateWire

/// The daemon's requests to a process that serves boards: `board.run` and `board.barrier` (Behaviour A1–A8).
enum BoardMessages {
    /// The parameter that names a board.
    static let boardField = Field(
        "board", .string(1...BoardName.longest, problem: BoardName.problem))

    private static let defaults = ActivationBarrier(board: "")

    /// A barrier, as a client describes it.
    static let barrier = Shape.object(
        boardField,
        Field(optional: "option", default: defaults.option, "the activations that share one cycle of the barrier"),
        Field(optional: "scope", default: defaults.scope, "the scope of one cycle of the barrier"),
        Field(optional: "timeout_ms", .milliseconds(atLeast: 1), default: defaults.timeout),
        Field(optional: "on_timeout", default: defaults.onTimeout),
        Field(
            optional: "sticky_ms", .milliseconds(atLeast: 1),
            "the time for which a completed cycle stays valid for later activations")
    ) { board, option, scope, timeout, onTimeout, sticky in
        var barrier = ActivationBarrier(board: board)
        barrier.option = option
        barrier.scope = scope
        barrier.timeout = timeout
        barrier.onTimeout = onTimeout
        barrier.sticky = sticky
        return barrier
    }

    /// A board's outcome, in the answers to `board.activate` and `board.run`.
    static let outcome = OutputShape<BoardResult>.object([
        .required("done", .bool, \.done),
        .optional("output", asSent, { result in result.output.map { ($0, result.outputText) } }),
    ])

    /// A value as a client sent it: its JSON text, or the item if there is no text.
    private static let asSent = OutputShape<(item: DataItem, text: [UInt8]?)>(.any) { value, writer in
        if let text = value.text { writer.raw(text) } else { writer.item(value.item) }
    }

    /// The params of `board.barrier`.
    static let choiceParams = OutputMembers<BoardRun>.all([board, input, mainboard])
    /// The params of `board.run`.
    static let runParams = OutputMembers<BoardRun>.all([
        board, .required("activation", .name, { "activation-\($0.activation)" }), input, mainboard,
        .required("as_barrier", .bool, \.isBarrier),
    ])

    private static let board = OutputMembers<BoardRun>.required("board", .name, \.board)
    private static let input = OutputMembers<BoardRun>.required("input", asSent, { ($0.input, $0.inputText) })
    private static let mainboard = OutputMembers<BoardRun>.required("mainboard", .text, \.mainboard)

    static let run = ServerMessage(
        "board.run", "Runs a board.", params: runParams.declared, result: outcome.schema)

    static let choice = ServerMessage(
        "board.barrier",
        "Requests the barrier of one activation of a board that is served with `\"barrier\": \"ask\"`.",
        params: choiceParams.declared,
        result: .object([
            .optional("barrier", .nullable(barrier.schema), "absent or null: the activation has no barrier")
        ]))

    /// Reads the answer to `board.barrier`. An answer without a valid barrier is an error of the process.
    static func choice(in result: Result<JSONView, PeerFault>) -> Result<ActivationBarrier?, ActivationFault> {
        switch result {
        case .failure(.refused(let error)): return .failure(ActivationFault(error))
        case .failure(.gone): return .failure(ActivationFault(message: "the serving process has disconnected"))
        case .success(let view):
            guard view.kind == .object else {
                return .failure(
                    ActivationFault(
                        message: "the serving process answered board.barrier with a result that is not an object"))
            }
            guard let member = view.member("barrier"), member.kind != .null else { return .success(nil) }
            do throws(ParameterFault) {
                return .success(try barrier.read(member))
            } catch {
                let path = error.path.isEmpty ? "barrier" : "barrier.\(error.path)"
                return .failure(
                    ActivationFault(
                        message: "the serving process answered board.barrier with \(path) that \(error.message)"))
            }
        }
    }
}
