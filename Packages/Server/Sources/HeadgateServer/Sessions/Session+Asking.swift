import HeadgateData
import HeadgateWire

/// What the server asks of a client (Protocol, Server to client).
extension Session {
    /// Sends a request to the client. `then` is called once: with its answer, or when it refuses or goes away. That is
    /// never before this returns.
    /// - Parameter params: writes the params, an object.
    @discardableResult
    func ask(
        _ method: StaticString, params: (inout JSONWriter) -> Void, then: @escaping PeerRequests.Completion
    ) -> PeerRequests.Number {
        let number = peerRequests.add(then)
        guard connection.isOpen, !hasReachedEnd else {
            service.worker.soon { self.peerRequests.take(number)?(.failure(.gone)) }
            return number
        }
        var writer = JSONWriter()
        writer.request(id: number, method: method, params: params)
        writer.endLine()
        send(writer.bytes)
        return number
    }

    /// Stops waiting for an answer: `then` is not called any more, and an answer that still comes is ignored.
    func withdraw(_ number: PeerRequests.Number) {
        peerRequests.remove(number)
        closeIfDone()
    }

    /// An answer to nothing that was asked may be a late one, and is no fault.
    func take(_ outcome: IncomingMessage.Outcome, of request: RequestID) {
        guard let then = peerRequests.take(request) else { return }
        switch outcome {
        case .result(let result): then(.success(result))
        case .failure(let error): then(.failure(.refused(error)))
        }
        closeIfDone()
    }

    /// Nothing comes from this client any more: it answers none of what it was asked.
    func endPeerRequests() {
        for then in peerRequests.takeAll() { then(.failure(.gone)) }
    }
}
