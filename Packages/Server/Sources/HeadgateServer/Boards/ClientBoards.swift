import HeadgateCore
import HeadgateData
import HeadgateWire

/// A client that serves boards. The daemon asks it to run them with `board.run`.
final class ClientProvider: BoardProvider {
    private let session: Session
    private weak var boards: Boards?
    /// The open request of each run.
    private var requests: [Int: PeerRequests.Number] = [:]

    init(_ session: Session, for boards: Boards) {
        self.session = session
        self.boards = boards
    }

    var isIdle: Bool { requests.isEmpty }
    var isOverfull: Bool { session.isOverfull }

    func begin(_ run: BoardRun) {
        ask(BoardMessages.run, BoardMessages.runParams, run) { [weak boards] in boards?.answered(run, BoardAnswer($0)) }
    }

    func chooseBarrier(for run: BoardRun) {
        ask(BoardMessages.choice, BoardMessages.choiceParams, run) { [weak boards] in
            boards?.chose(run, BoardMessages.choice(in: $0))
        }
    }

    func cancel(_ run: Int) {
        requests.removeValue(forKey: run).map(session.withdraw)
    }

    private func ask(
        _ message: ServerMessage, _ params: OutputMembers<BoardRun>, _ run: BoardRun,
        then: @escaping (Result<JSONView, PeerFault>) -> Void
    ) {
        let write = { (writer: inout JSONWriter) in params.writeObject(run, into: &writer) }
        requests[run.run] = session.ask(message.name, params: write) { [weak self] result in
            self?.requests[run.run] = nil
            if case .failure(.gone) = result { self?.boards?.servingClientLeft(run.provider) } else { then(result) }
        }
    }
}

extension RPCError {
    /// Makes the error that a failed activation returns to its client, or nil if the process gave a result.
    init?(_ outcome: ActivationOutcome, board: String) {
        switch outcome {
        case .completed: return nil
        case .failed(let fault): self = .failed(board: board, fault)
        case .notServed: self.init(.notFound, "no client serves board \(board)")
        case .providerLost: self.init(.providerLost, "the process that serves board \(board) has disconnected")
        case .timedOut: self.init(.timeout, "board \(board) did not answer in time")
        case .cancelled(let barrier, let cause): self = .cancelled(barrier: barrier, cause: cause.rawValue)
        case .cycle(let boards): self = .cycle(boards)
        // A client that still listens gets this only because the service stops.
        case .withdrawn: self.init(.shuttingDown)
        }
    }

    /// Makes the error of boards that would wait for each other (Behaviour A8).
    static func cycle(_ boards: [String]) -> RPCError {
        RPCError(
            .activationCycle, "the boards would wait for each other in a circle: \(boards.joined(separator: ", "))",
            data: ["path": .array(boards.map { .string($0) })])
    }

    private static func failed(board: String, _ fault: ActivationFault) -> RPCError {
        var data: DataObject = ["board": .string(board), "cause": .string(BarrierCause.refused.rawValue)]
        if let error = fault.error { data["error"] = .object(error) }
        var error = RPCError(.cancelled, "board \(board): \(fault.message)", data: data)
        error.rawJSON = fault.rawJSON.map { spelled(error, board: board, $0) }
        return error
    }

    /// Returns the JSON texts of the error. They contain the fault's texts byte for byte, as the board's process sent
    /// them (Behaviour P6).
    private static func spelled(_ error: RPCError, board: String, _ fault: ActivationFault.RawJSON) -> RawJSON {
        let start = Array(DataItem.string("board \(board): ").json.utf8)
        var data = JSONWriter()
        data.beginObject()
        for (name, value) in error.data where name != "error" {
            data.member(key: name)
            data.item(value)
        }
        data.member("error")
        data.raw(fault.error)
        data.endObject()
        return RawJSON(message: start.dropLast() + fault.message.dropFirst(), data: data.bytes)
    }
}

extension BoardAnswer {
    /// Reads a process's answer to `board.run`. Any answer except a result with `done` counts as an error.
    init(_ result: Result<JSONView, PeerFault>) {
        switch result {
        case .success(let view):
            guard let done = view.member("done")?.bool else {
                self = .failure(.noResult)
                return
            }
            let output = view.member("output").map { BoardInput($0) }
            self = .success(BoardResult(done: done, output: output?.item, outputText: output?.text))
        case .failure(.refused(let error)): self = .failure(ActivationFault(error))
        case .failure(.gone): self = .failure(ActivationFault(message: "the serving process has disconnected"))
        }
    }
}

extension ActivationFault {
    fileprivate static let noResult = ActivationFault(message: "the serving process answered without `done`")

    /// The fault of a run whose process does not read its input. The daemon sends it nothing more (Behaviour X2).
    static let notReading = ActivationFault(message: "the serving process does not read its connection")

    init(_ error: RPCError) {
        var object: DataObject = ["code": .number(DataNumber(error.code)), "message": .string(error.message)]
        if !error.data.isEmpty { object["data"] = .object(error.data) }
        self.init(
            message: error.message, error: object, rawJSON: error.rawJSON.map { RawJSON($0, code: error.code) })
    }
}

extension ActivationFault.RawJSON {
    /// Creates the texts of a fault from those of a process's error.
    fileprivate init(_ error: RPCError.RawJSON, code: Int) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("code", code)
        writer.member("message")
        writer.raw(error.message)
        if let data = error.data {
            writer.member("data")
            writer.raw(data)
        }
        writer.endObject()
        self.init(message: error.message, error: writer.bytes)
    }
}
