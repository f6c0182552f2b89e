import HeadgateWire

/// The requests that were sent to one client and that it has not answered yet. Whoever sends one is told once what came
/// of it; a client that goes away answers all of them so.
struct PeerRequests {
    /// Names a request, for ``Session/withdraw(_:)``.
    typealias Number = Int64
    /// Told what came of a request. The answer is gone after the call: read it, or copy it.
    typealias Completion = (Result<JSONView, PeerFault>) -> Void

    private var waiting: [Number: Completion] = [:]
    private var last: Number = 0

    /// - Returns: the id of the request.
    mutating func add(_ then: @escaping Completion) -> Number {
        last += 1
        waiting[last] = then
        return last
    }

    /// Who waits for this answer; nil when nobody does, or not any more.
    mutating func take(_ id: RequestID) -> Completion? {
        id.int.flatMap { take($0) }
    }

    /// Who waits for the answer to a request; nil when nobody does, or not any more.
    mutating func take(_ number: Number) -> Completion? {
        waiting.removeValue(forKey: number)
    }

    /// All that wait, in the order in which they asked.
    mutating func takeAll() -> [Completion] {
        defer { waiting = [:] }
        return waiting.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// Why a client did not do what it was asked.
enum PeerFault: Error {
    /// It answered with an error.
    case refused(RPCError)
    /// It went away, and took with it what it was asked.
    case gone
}
