import HeadgateWire

/// The open requests from the daemon to one client. The sender of a request gets its result exactly once. If the client
/// disconnects, all open requests fail.
struct PeerRequests {
    /// The number of a request, for ``Session/withdraw(_:)``.
    typealias Number = Int64
    /// Called with the result of a request. The answer is valid only during the call.
    typealias Completion = (Result<JSONView, PeerFault>) -> Void

    private var waiting: [Number: Completion] = [:]
    private var last: Number = 0

    /// Adds a request.
    /// - Returns: the request's ID.
    mutating func add(_ then: @escaping Completion) -> Number {
        last += 1
        waiting[last] = then
        return last
    }

    /// Removes and returns the callback of a request, or nil if the request is not open.
    mutating func take(_ id: RequestID) -> Completion? {
        id.int.flatMap { take($0) }
    }

    /// Removes and returns the callback of a request, or nil if the request is not open.
    mutating func take(_ number: Number) -> Completion? {
        waiting.removeValue(forKey: number)
    }

    /// Removes and returns all callbacks, in the order of their requests.
    mutating func takeAll() -> [Completion] {
        defer { waiting = [:] }
        return waiting.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// The reason why a client did not fulfil a request.
enum PeerFault: Error {
    /// The client answered with an error.
    case refused(RPCError)
    /// The client disconnected.
    case gone
}

extension IncomingMessage.Outcome {
    /// The outcome as the result of a request to the client.
    var result: Result<JSONView, PeerFault> {
        switch self {
        case .result(let result): .success(result)
        case .failure(let error): .failure(.refused(error))
        }
    }
}
