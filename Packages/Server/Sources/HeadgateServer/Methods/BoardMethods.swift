import HeadgateCore
import HeadgateData
import HeadgateWire

/// `board.serve`, `board.unserve` and `board.activate` (Behaviour A1–A8).
enum BoardMethods {
    static let all = [
        Method("board.serve", .serve, serve), Method("board.unserve", .serve, unserve),
        Method("board.activate", .track, activate),
    ]

    /// The most bytes that a mainboard's name may have.
    private static let longestMainboard = 256

    private static func serve(_ service: Service, _ call: Call) throws(RPCError) {
        let board = try name(of: call.reader)
        let serving = BoardServing(
            barrier: try barrier(call.reader.optionalObject("barrier")),
            bypassesGateway: try call.reader.optional("bypass_gateway") ?? false)
        do throws(ServingRefusal) {
            try service.boards.serve(board, serving, by: call.session)
        } catch {
            throw RPCError(error, board: board)
        }
        call.reply.answer()
    }

    private static func unserve(_ service: Service, _ call: Call) throws(RPCError) {
        let board: String = try call.reader.required("board")
        guard service.boards.unserve(board, by: call.session.number) else {
            throw RPCError(.notFound, "this connection does not serve board \(board)")
        }
        call.reply.answer()
    }

    private static func activate(_ service: Service, _ call: Call) throws(RPCError) {
        let request = try request(call)
        if service.gate.isStopping { throw RPCError(.shuttingDown) }
        do throws(TooManyActivations) {
            try service.boards.activate(request) { [reply = call.reply] outcome in
                reply.tell(outcome, of: request.board)
            }
        } catch {
            throw RPCError(.limit, "a connection may have \(error.limit) activations under way")
        }
    }

    // MARK: Params

    private static func request(_ call: Call) throws(RPCError) -> ActivationRequest {
        let reader = call.reader
        // Its answer is all that an activation is for; and what nobody is owed an answer for is held to no limit of bytes.
        guard call.reply.isExpected else { throw .invalidRequest("board.activate needs an id") }
        let mainboard = try reader.optional("mainboard") ?? call.session.caller.namespace
        guard (1...longestMainboard).contains(mainboard.utf8.count) else {
            throw reader.fault("mainboard", "must have 1 to \(longestMainboard) bytes")
        }
        var request = ActivationRequest(board: try name(of: reader), mainboard: mainboard)
        request.client = call.session.number
        request.input = try reader.optional("input") ?? .null
        if let timeout = try milliseconds("timeout_ms", of: reader) { request.timeout = timeout }
        request.wait = try reader.optional("wait_ms", in: 0...).map { .milliseconds($0) } ?? .zero
        return request
    }

    private static func barrier(_ reader: ParameterReader?) throws(RPCError) -> ActivationBarrier? {
        guard let reader else { return nil }
        var barrier = ActivationBarrier(board: try name(of: reader))
        barrier.option = try reader.optionalWord("option") ?? barrier.option
        barrier.scope = try reader.optionalWord("scope") ?? barrier.scope
        barrier.onTimeout = try reader.optionalWord("on_timeout") ?? barrier.onTimeout
        barrier.timeout = try milliseconds("timeout_ms", of: reader) ?? barrier.timeout
        barrier.sticky = try milliseconds("sticky_ms", of: reader)
        return barrier
    }

    private static func milliseconds(_ name: StaticString, of reader: ParameterReader) throws(RPCError) -> Duration? {
        try reader.optional(name, in: 1...).map { .milliseconds($0) }
    }

    private static func name(of reader: ParameterReader) throws(RPCError) -> String {
        let board: String = try reader.required("board")
        if let complaint = BoardName.complaint(about: board) { throw reader.fault("board", complaint) }
        return board
    }
}

extension Reply {
    fileprivate func tell(_ outcome: ActivationOutcome, of board: String) {
        if let error = RPCError(outcome, board: board) { return fail(error) }
        guard case .completed(let done, let output) = outcome else { return }
        answer { writer in
            writer.beginObject()
            writer.member("done", done)
            if let output { writer.member("output", item: output) }
            writer.endObject()
        }
    }
}

extension RPCError {
    /// Why a process may not serve a board, as it is told.
    fileprivate init(_ refusal: ServingRefusal, board: String) {
        switch refusal {
        case .differs: self.init(.conflict, "others serve board \(board) with another barrier or gateway")
        case .circle(let boards): self = .circle(boards)
        case .tooMany(let most): self.init(.limit, "a connection may serve \(most) boards")
        }
    }
}
