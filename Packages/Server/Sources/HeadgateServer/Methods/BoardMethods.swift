import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `board.serve`, `board.unserve` and `board.activate` (Behaviour A1–A8).
struct BoardMethods: MethodFamily {
    let boards: Boards
    let gate: Headgate

    /// The most bytes of a mainboard's name.
    private static let longestMainboard = UserNamespace.longest

    // MARK: Serving

    /// The word that a process gives instead of a barrier, so that the daemon asks for one at each activation
    /// (Behaviour A2).
    private enum Asking: String, CaseIterable {
        case ask
    }

    private static let boardBarrier = Shape<BoardServing.OwnBarrier>(
        .either([BoardMessages.barrier.schema, .words(of: Asking.self), .null])
    ) { view throws(ParameterFault) in
        switch view.kind {
        case .null: return .fixed(nil)
        case .object: return .fixed(try BoardMessages.barrier.read(view))
        default:
            guard view.string == Asking.ask.rawValue else { throw ParameterFault("must be an object, \"ask\" or null") }
            return .chosen
        }
    }

    private static let serve = FamilyMethod<Self>(
        "board.serve", .serve, "Registers the client as a server of a board. The daemon then sends `board.run`.",
        BoardMessages.boardField,
        Field(
            optional: "barrier", boardBarrier,
            "the board that must complete before this one runs; `ask`: the server requests it at each activation"),
        Field(
            optional: "bypass_gateway", default: false,
            "true: the board bypasses the gateway, if the settings allow that"),
        reasons: [.conflict, .activationCycle, .limit]
    ) { parts, call, board, barrier, bypassesGateway throws(RPCError) in
        let serving = BoardServing(barrier ?? .fixed(nil), bypassesGateway: bypassesGateway)
        do throws(ServingRefusal) {
            try parts.boards.serve(board, serving, by: call.session)
        } catch {
            throw RPCError(error, board: board)
        }
        call.reply.answer()
    }

    private static let unserve = FamilyMethod<Self>(
        "board.unserve", .serve, "Stops serving a board.", Field("board", .string), reasons: [.notFound]
    ) { parts, call, board throws(RPCError) in
        guard parts.boards.unserve(board, by: call.session.number) else {
            throw RPCError(.notFound, "this connection does not serve board \(board)")
        }
        call.reply.answer()
    }

    // MARK: Activating

    /// The default timeout of an activation (Behaviour A5).
    private static let defaultTimeout = Duration.seconds(30)

    private static let activate = FamilyMethod<Self>(
        "board.activate", .track, "Activates a board once its barriers have completed, and returns the outcome.",
        BoardMessages.boardField,
        Field(optional: "input", .boardInput, default: BoardInput(), asItem: .null),
        Field(optional: "mainboard", .string(1...longestMainboard), "by default the connection's namespace"),
        Field(
            optional: "timeout_ms", .milliseconds(atLeast: 1), default: defaultTimeout,
            "measured from the request to the serving process"),
        Field(
            optional: "wait_ms", .milliseconds(atLeast: 0), default: .zero,
            "time to wait for a client that serves the board"),
        result: BoardMessages.outcome.schema,
        reasons: [.notFound, .cancelled, .providerLost, .timeout, .activationCycle, .limit, .shuttingDown]
    ) { parts, call, board, input, mainboard, timeout, wait throws(RPCError) in
        var request = ActivationRequest(board: board, mainboard: mainboard ?? call.session.caller.namespace)
        request.client = call.session.number
        (request.input, request.comparedInput, request.inputText) = (input.item, input.compared, input.text)
        request.timeout = timeout
        request.wait = wait
        if parts.gate.isStopping { throw RPCError(.shuttingDown) }
        do throws(TooManyActivations) {
            try parts.boards.activate(request) { [reply = call.reply] outcome in
                reply.answer(outcome, of: board)
            }
        } catch {
            throw RPCError(.limit, "a connection has at most \(error.limit) activations in progress")
        }
    }

    static let methods = [serve, unserve, activate]
    static let messages = [BoardMessages.run, BoardMessages.choice]
}

extension Reply {
    fileprivate func answer(_ outcome: ActivationOutcome, of board: String) {
        if let error = RPCError(outcome, board: board) { return fail(error) }
        guard case .completed(let result) = outcome else { return }
        answer(BoardMessages.outcome, result)
    }
}

extension RPCError {
    /// Makes the error for a process that may not serve a board.
    fileprivate init(_ refusal: ServingRefusal, board: String) {
        switch refusal {
        case .differs: self.init(.conflict, "other clients serve board \(board) with another barrier or gateway")
        case .cycle(let boards): self = .cycle(boards)
        case .tooMany(let most): self.init(.limit, "a connection serves at most \(most) boards")
        }
    }
}
