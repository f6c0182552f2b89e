import HeadgateCore
import HeadgateData
import HeadgateWire

/// The daemon's requests to a process that serves boards: `board.run` and `board.barrier` (Behaviour A1–A8).
enum BoardMessages {
    /// The parameter that names a board.
    static let board = Field(
        "board", .string(1...BoardName.longest, complaint: BoardName.complaint))

    private static let usual = ActivationBarrier(board: "")

    /// A barrier, as a client describes it.
    static let barrier = Shape.object(
        board, Field(optional: "option", usually: usual.option, "the activations that share one cycle of the barrier"),
        Field(optional: "scope", usually: usual.scope, "the scope of one cycle of the barrier"),
        Field(optional: "timeout_ms", .milliseconds(atLeast: 1), usually: usual.timeout),
        Field(optional: "on_timeout", usually: usual.onTimeout),
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

    /// The schema of a board's outcome, in the answers to `board.activate` and `board.run`.
    static let outcome = Schema.object([.required("done", .bool), .optional("output", .any)])

    static let run = ServerMessage(
        "board.run", "Runs a board.",
        params: [
            .required("board", .name), .required("activation", .name), .required("input", .any),
            .required("mainboard", .text), .required("as_barrier", .bool),
        ], result: outcome)

    static let choice = ServerMessage(
        "board.barrier",
        "Requests the barrier of one activation of a board that is served with `\"barrier\": \"ask\"`.",
        params: [.required("board", .name), .required("input", .any), .required("mainboard", .text)],
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
