import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `board.serve`, `board.unserve` and `board.activate`, and the daemon's requests to a process that serves
/// boards: `board.run` and `board.barrier` (Behaviour A1–A8).
enum BoardMethods {
    /// The most bytes of a mainboard's name.
    private static let longestMainboard = UserNamespace.longest

    private static let board = Field(
        "board", .string(1...BoardName.longest, complaint: BoardName.complaint))

    // MARK: Serving

    private static let usual = ActivationBarrier(board: "")

    private static let barrier = Shape.object(
        board, Field(optional: "option", usually: usual.option, "which activations share one cycle of it"),
        Field(optional: "scope", usually: usual.scope, "how far one cycle reaches"),
        Field(optional: "timeout_ms", .milliseconds(atLeast: 1), usually: usual.timeout),
        Field(optional: "on_timeout", usually: usual.onTimeout),
        Field(
            optional: "sticky_ms", .milliseconds(atLeast: 1), "how long its completion counts for those who come later")
    ) { board, option, scope, timeout, onTimeout, sticky in
        var barrier = ActivationBarrier(board: board)
        barrier.option = option
        barrier.scope = scope
        barrier.timeout = timeout
        barrier.onTimeout = onTimeout
        barrier.sticky = sticky
        return barrier
    }

    /// The word that a process gives instead of a barrier, so that the daemon asks for one at each activation
    /// (Behaviour A2).
    private enum Asking: String, CaseIterable {
        case ask
    }

    private static let boardBarrier = Shape<BoardServing.OwnBarrier>(
        .either([barrier.schema, .words(of: Asking.self), .null])
    ) { view throws(ParameterFault) in
        switch view.kind {
        case .null: return .fixed(nil)
        case .object: return .fixed(try barrier.read(view))
        default:
            guard view.string == Asking.ask.rawValue else { throw ParameterFault("must be an object, \"ask\" or null") }
            return .chosen
        }
    }

    private static let serve = Method(
        "board.serve", .serve, "Serves a board, which then comes as `board.run`.", board,
        Field(
            optional: "barrier", boardBarrier,
            "the board that must complete before this one runs; `ask`: the server asks for it at each activation"),
        Field(
            optional: "bypass_gateway", usually: false, "no gateway stands before it, where settings allow that"),
        reasons: [.conflict, .activationCycle, .limit]
    ) { service, call, board, barrier, bypassesGateway throws(RPCError) in
        let serving = BoardServing(barrier ?? .fixed(nil), bypassesGateway: bypassesGateway)
        do throws(ServingRefusal) {
            try service.boards.serve(board, serving, by: call.session)
        } catch {
            throw RPCError(error, board: board)
        }
        call.reply.answer()
    }

    private static let unserve = Method(
        "board.unserve", .serve, "Stops serving a board.", Field("board", .string), reasons: [.notFound]
    ) { service, call, board throws(RPCError) in
        guard service.boards.unserve(board, by: call.session.number) else {
            throw RPCError(.notFound, "this connection does not serve board \(board)")
        }
        call.reply.answer()
    }

    /// The schema of a board's outcome, in the answers to `board.activate` and `board.run`.
    private static let outcome = Schema.object([.required("done", .bool), .optional("output", .any)])

    // MARK: Activating

    /// The default timeout of an activation (Behaviour A5).
    private static let usualTimeout = Duration.seconds(30)

    private static let activate = Method(
        "board.activate", .track, "Activates a board, after its barriers, and answers with its outcome.", board,
        Field(optional: "input", .boardInput, usually: BoardInput(), told: .null),
        Field(optional: "mainboard", .string(1...longestMainboard), "by default the connection's namespace"),
        Field(
            optional: "timeout_ms", .milliseconds(atLeast: 1), usually: usualTimeout,
            "from when its process is asked"),
        Field(
            optional: "wait_ms", .milliseconds(atLeast: 0), usually: .zero,
            "how long to wait for one that serves it"),
        result: outcome,
        reasons: [.notFound, .cancelled, .providerLost, .timeout, .activationCycle, .limit, .shuttingDown]
    ) { service, call, board, input, mainboard, timeout, wait throws(RPCError) in
        var request = ActivationRequest(board: board, mainboard: mainboard ?? call.session.caller.namespace)
        request.client = call.session.number
        (request.input, request.comparedInput, request.inputText) = (input.item, input.compared, input.text)
        request.timeout = timeout
        request.wait = wait
        if service.gate.isStopping { throw RPCError(.shuttingDown) }
        do throws(TooManyActivations) {
            try service.boards.activate(request) { [reply = call.reply] outcome in
                reply.tell(outcome, of: board)
            }
        } catch {
            throw RPCError(.limit, "a connection may have \(error.limit) activations under way")
        }
    }

    static let run = ServerMessage(
        "board.run", "Runs a board.",
        params: [
            .required("board", .name), .required("activation", .name), .required("input", .any),
            .required("mainboard", .text), .required("as_barrier", .bool),
        ], result: outcome)

    // MARK: Choosing a barrier

    static let choice = ServerMessage(
        "board.barrier",
        "Asks for the barrier of one activation of a board that is served with `\"barrier\": \"ask\"`.",
        params: [.required("board", .name), .required("input", .any), .required("mainboard", .text)],
        result: .object([
            .optional("barrier", .nullable(barrier.schema), "none: the activation has no barrier of its own")
        ]))

    /// Reads the answer to `board.barrier`. An answer without a valid barrier is an error of the process.
    static func choice(in result: Result<JSONView, PeerFault>) -> Result<ActivationBarrier?, ActivationFault> {
        switch result {
        case .failure(.refused(let error)): return .failure(ActivationFault(error))
        case .failure(.gone): return .failure(ActivationFault(message: "its process is gone"))
        case .success(let view):
            guard view.kind == .object else {
                return .failure(
                    ActivationFault(message: "its process answered board.barrier with a result that is no object"))
            }
            guard let member = view.member("barrier"), member.kind != .null else { return .success(nil) }
            do throws(ParameterFault) {
                return .success(try barrier.read(member))
            } catch {
                let path = error.path.isEmpty ? "barrier" : "barrier.\(error.path)"
                return .failure(
                    ActivationFault(message: "its process answered board.barrier with \(path) that \(error.message)"))
            }
        }
    }

    static let family = MethodFamily(methods: [serve, unserve, activate], messages: [run, choice])
}

extension Reply {
    fileprivate func tell(_ outcome: ActivationOutcome, of board: String) {
        if let error = RPCError(outcome, board: board) { return fail(error) }
        guard case .completed(let result) = outcome else { return }
        answer { writer in
            writer.beginObject()
            writer.member("done", result.done)
            if let output = result.output { writer.member("output", item: output, text: result.outputText) }
            writer.endObject()
        }
    }
}

extension RPCError {
    /// Makes the error for a process that may not serve a board.
    fileprivate init(_ refusal: ServingRefusal, board: String) {
        switch refusal {
        case .differs: self.init(.conflict, "others serve board \(board) with another barrier or gateway")
        case .circle(let boards): self = .circle(boards)
        case .tooMany(let most): self.init(.limit, "a connection may serve \(most) boards")
        }
    }
}
