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
