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
        machine.askedClient()
        guard connection.isOpen, machine.mayAnswer else {
            service.worker.soon { self.take(.failure(.gone), of: self.peerRequests.take(number)) }
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
        guard peerRequests.take(number) != nil else { return }
        perform(machine.clientAnswered())
    }

    /// An answer to nothing that was asked may be a late one, and is no fault.
    func take(_ outcome: IncomingMessage.Outcome, of request: RequestID) {
        let then = peerRequests.take(request)
        switch outcome {
        case .result(let result): take(.success(result), of: then)
        case .failure(let error): take(.failure(.refused(error)), of: then)
        }
    }

    /// Nothing comes from this client any more: it answers none of what it was asked.
    func endPeerRequests() {
        for then in peerRequests.takeAll() { take(.failure(.gone), of: then) }
    }

    private func take(_ result: Result<JSONView, PeerFault>, of then: PeerRequests.Completion?) {
        guard let then else { return }
        then(result)
        perform(machine.clientAnswered())
    }
}
