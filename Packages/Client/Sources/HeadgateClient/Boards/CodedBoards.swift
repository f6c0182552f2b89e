import HeadgateData

extension BoardActivation {
    /// What whoever activated it gave, as a type of the program's own.
    /// - Throws: `DecodingError`, also where nothing was given and the type is no optional; or what the type throws.
    public func decodeInput<Input: Decodable>(
        as type: Input.Type = Input.self, by coder: DataCoder = DataCoder()
    ) throws -> Input {
        try coder.decode(from: input ?? .null)
    }
}

extension BoardOutcome {
    /// The board did what it is for, and hands out a value of the program's own.
    /// - Throws: `EncodingError` where there is no JSON for it, or what the value throws.
    public static func done(encoding output: some Encodable, by coder: DataCoder = DataCoder()) throws -> BoardOutcome {
        .done(try coder.encode(output))
    }

    /// What the board handed out, as a type of the program's own.
    /// - Throws: `DecodingError`, also where it handed out nothing and the type is no optional; or what the type throws.
    public func decodeOutput<Output: Decodable>(
        as type: Output.Type = Output.self, by coder: DataCoder = DataCoder()
    ) throws -> Output {
        try coder.decode(from: output ?? .null)
    }
}

extension HeadgateClient {
    /// Serves a board whose input and output are types of the program's own (Behaviour A1), until the task is cancelled.
    ///
    /// The client's ``coder`` reads and writes them. An input that is not of the type fails the activation, and so does
    /// what `run` throws.
    /// - Parameters:
    ///   - board: its name.
    ///   - input: what whoever activates it gives.
    ///   - barrier: the board that has to complete first; all who serve the board have to say the same.
    ///   - bypassGateway: whether no gateway is to stand before it, if the daemon's settings allow that (Behaviour A7).
    ///   - onNews: told when the daemon knows of it and when the connection is gone, in order; not to be held up.
    ///   - run: what it does; nil is a refusal.
    /// - Throws: as the function that takes activations does.
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

    /// Activates a board with a value of the program's own, and waits for what comes of it (Behaviour A1).
    ///
    /// The client's ``coder`` makes JSON of the value, before anything is sent.
    /// - Parameters:
    ///   - board: its name.
    ///   - input: what it is given.
    ///   - mainboard: whose barriers stand before it; nil is this connection's namespace.
    ///   - timeout: how long it may take from when it runs, to the millisecond; nil is the daemon's 30 seconds.
    ///   - wait: how long to wait for somebody who serves it, to the millisecond; nil is not at all.
    ///   - deadline: how long to wait for the answer; nil is for ever.
    /// - Throws: `EncodingError`, or what the value throws, and then nothing was sent; else ``ClientError``.
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
