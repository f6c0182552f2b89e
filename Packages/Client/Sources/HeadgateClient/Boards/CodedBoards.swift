import HeadgateData

extension BoardActivation {
    /// Decodes the input as a type of the program.
    /// - Throws: `DecodingError`, also if there is no input and the type is not optional, or an error of the type.
    public func decodeInput<Input: Decodable>(
        as type: Input.Type = Input.self, by coder: DataCoder = DataCoder()
    ) throws -> Input {
        try coder.decode(from: input ?? .null)
    }
}

extension BoardOutcome {
    /// Returns the outcome of a board that completed with a value of the program as its output.
    /// - Throws: `EncodingError` if there is no JSON for the value, or an error of the value.
    public static func done(encoding output: some Encodable, by coder: DataCoder = DataCoder()) throws -> BoardOutcome {
        .done(try coder.encode(output))
    }

    /// Decodes the output as a type of the program.
    /// - Throws: `DecodingError`, also if there is no output and the type is not optional, or an error of the type.
    public func decodeOutput<Output: Decodable>(
        as type: Output.Type = Output.self, by coder: DataCoder = DataCoder()
    ) throws -> Output {
        try coder.decode(from: output ?? .null)
    }
}

extension HeadgateClient {
    /// Serves a board whose input and output are types of the program (Behaviour A1), until the task is cancelled.
    ///
    /// The client's ``coder`` reads and writes them. An input of another type fails the activation, and so does an
    /// error of `run`.
    /// - Parameters:
    ///   - board: the board's name.
    ///   - input: the type of the input.
    ///   - barrier: the board that must complete first. All processes that serve the board must give the same
    ///     barrier.
    ///   - bypassGateway: true if activations pass no gateway, where the daemon's settings allow that (Behaviour A7).
    ///   - onNews: called in order when the daemon has the board and when the connection is lost. It must not block.
    ///   - run: runs the board; nil is a refusal.
    /// - Throws: the errors of the function that takes activations.
    public func serve<Input: Decodable & SendableMetatype, Output: Encodable & SendableMetatype>(
        _ board: String, as input: Input.Type, barrier: BoardBarrier? = nil, bypassGateway: Bool = false,
        onNews: @escaping @Sendable (ServingNews) -> Void = { _ in },
        _ run: @escaping @Sendable (Input) async throws -> Output?
    ) async throws {
        try await serve(board, barrier: barrier, bypassGateway: bypassGateway, onNews: onNews) { [coder] activation in
            guard let output = try await run(activation.decodeInput(by: coder)) else { return .refused }
            return try .done(encoding: output, by: coder)
        }
    }

    /// Activates a board with a value of the program, and waits for its outcome (Behaviour A1).
    ///
    /// The client's ``coder`` encodes the value before anything is sent.
    /// - Parameters:
    ///   - board: the board's name.
    ///   - input: the input.
    ///   - mainboard: the mainboard whose barriers count; nil is this connection's namespace.
    ///   - timeout: the longest time of the run, in whole milliseconds; nil is the daemon's 30 seconds.
    ///   - wait: the longest wait for a process that serves the board, in whole milliseconds; nil is none.
    ///   - deadline: the longest wait for the answer; nil waits for ever.
    /// - Throws: `EncodingError` or an error of the value, and then nothing was sent; otherwise ``ClientError``.
    @discardableResult
    public nonisolated(nonsending) func activate(
        _ board: String, with input: some Encodable, mainboard: String? = nil, timeout: Duration? = nil,
        wait: Duration? = nil, deadline: Duration? = nil
    ) async throws -> BoardOutcome {
        let item = try coder.encode(input)
        return try await activate(
            board, input: item, mainboard: mainboard, timeout: timeout, wait: wait, deadline: deadline)
    }
}
