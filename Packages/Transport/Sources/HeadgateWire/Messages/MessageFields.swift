/// The members of a message that JSON-RPC knows, found in one pass.
struct MessageFields {
    private var version: JSONView?
    private var id: JSONView?
    private var method: JSONView?
    private var params: JSONView?
    private var result: JSONView?
    private var failure: JSONView?

    init(_ message: JSONMembers) {
        for (key, value) in message {
            if key.equals("jsonrpc") {
                version = value
            } else if key.equals("id") {
                id = value
            } else if key.equals("method") {
                method = value
            } else if key.equals("params") {
                params = value
            } else if key.equals("result") {
                result = value
            } else if key.equals("error") {
                failure = value
            }
        }
    }

    /// The message they make.
    var message: IncomingMessage {
        let usableID = id.flatMap(RequestID.init)
        guard version?.equals("2.0") == true else {
            return invalid(usableID, "\"jsonrpc\" must be \"2.0\"")
        }
        if id != nil, usableID == nil {
            return .invalid(id: nil, .invalidRequest("\"id\" must be a number, a string or null"))
        }
        guard let method else { return response(to: usableID) }
        guard method.kind == .string else {
            return .invalid(id: usableID, .invalidRequest("\"method\" must be a string"))
        }
        return call(of: method, id: usableID)
    }

    private func call(of method: JSONView, id: RequestID?) -> IncomingMessage {
        if let params, params.kind != .object {
            let error = RPCError.invalidParams(path: "", "must be an object")
            return id.map { .invalid(id: $0, error) } ?? .invalidNotification(error)
        }
        guard let id else { return .notification(.init(method: method, params: params)) }
        return .request(.init(id: id, method: method, params: params))
    }

    /// Many libraries write both members of an answer, with null for the one that does not count.
    private func response(to id: RequestID?) -> IncomingMessage {
        guard let id else { return .invalid(id: nil, .invalidRequest("neither a method nor an id")) }
        let failure = failure.flatMap { $0.kind == .null ? nil : $0 }
        let result = result.flatMap { $0.kind == .null && failure != nil ? nil : $0 }
        switch (result, failure) {
        case (let result?, nil): return .response(.init(id: id, outcome: .result(result)))
        case (nil, let failure?) where failure.kind == .object:
            return .response(.init(id: id, outcome: .failure(RPCError(failure))))
        default: return invalid(id, "no method, and not one of a result and an error")
        }
    }

    /// What cannot be understood: without a method and with an outcome it was meant as an answer.
    private func invalid(_ id: RequestID?, _ message: String) -> IncomingMessage {
        guard let id, method == nil, result != nil || failure != nil else {
            return .invalid(id: id, .invalidRequest(message))
        }
        return .invalidResponse(id: id, .invalidRequest(message))
    }
}
