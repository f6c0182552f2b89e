import HeadgateWire

/// What is told of something that lasts as long as a connection, and is asked for again on the next one: a barrier of
/// this side's, a board that it serves, the status that it announced.
public enum StandingReport {
    /// The daemon has taken it, for the first time or again.
    case began
    /// The connection is gone, for this reason. The next one is looked for, on which it begins again.
    case interrupted(ClientError)
    /// It does not begin again: the daemon refused, did not come back in time, or the connection was closed. Told once
    /// and last; a `CancellationError` when this side has ended it.
    case ended(any Error)

    init(_ news: StandingNews) {
        switch news {
        case .granted: self = .began
        case .interrupted(let error): self = .interrupted(error)
        case .ended(let error): self = .ended(error)
        }
    }
}

/// What is told of a call that is made again on each connection, since what it asks for lasts as long as a connection.
enum StandingNews {
    /// The daemon granted it on the present connection. The answer is gone after the call.
    case granted(JSONView)
    /// The connection is gone, and what was granted with it.
    case interrupted(ClientError)
    /// It is not made any more: refused, given up, or abandoned (`CancellationError`). Told once and last.
    case ended(any Error)
}

/// A call that is made again on each connection, on this side.
struct StandingCall {
    /// The name of what it asks for, in warnings.
    let name: String
    let tell: (StandingNews) -> Void
    /// Takes back what the daemon may grant though nobody waits for it any more.
    let giveBack: () -> Void
}

extension HeadgateClient {
    /// Begins something that lasts as long as a connection and is asked for again on the next one, and waits until the
    /// daemon has taken it for the first time.
    func begin(
        _ start: (ClientConnection, ClientConnection.Call, @escaping (StandingReport) -> Void) -> Void
    ) async throws {
        let call = connection.reserve()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                var waiting: CheckedContinuation<Void, any Error>? = continuation
                start(connection, call) { report in
                    switch report {
                    case .began: waiting?.resume()
                    case .interrupted: return
                    case .ended(let error): waiting?.resume(throwing: error)
                    }
                    waiting = nil
                }
            }
        } onCancel: {
            submitAbandon([call])
        }
    }
}
