import HeadgateData

extension RPCError {
    /// The line is not JSON, or not UTF-8.
    public static let parseErrorCode = -32700
    /// The message is not a JSON-RPC 2.0 message.
    public static let invalidRequestCode = -32600
    /// There is no such method.
    public static let methodNotFoundCode = -32601
    /// A parameter is missing or wrong.
    public static let invalidParamsCode = -32602
    /// The service failed in a way it has no word for.
    public static let internalErrorCode = -32603
    /// All of the service's own errors, told apart by their reason.
    public static let serviceCode = -32000

    /// The line is not JSON, or not UTF-8.
    public static func parseError(_ message: String = "not JSON") -> RPCError {
        RPCError(code: parseErrorCode, message: message)
    }

    /// The message is not a JSON-RPC 2.0 message.
    public static func invalidRequest(_ message: String) -> RPCError {
        RPCError(code: invalidRequestCode, message: message)
    }

    /// There is no such method.
    public static func methodNotFound(_ method: String) -> RPCError {
        RPCError(code: methodNotFoundCode, message: "no method \(method)")
    }

    /// A parameter is missing or wrong. The path is relative to `params` (`events[1].event`) and empty for them all.
    public static func invalidParams(path: String, _ message: String) -> RPCError {
        let place = path.isEmpty ? "params" : path
        return RPCError(code: invalidParamsCode, message: "\(place): \(message)", data: ["path": .string(path)])
    }

    /// The service failed in a way it has no word for.
    public static func internalError(_ message: String = "internal error") -> RPCError {
        RPCError(code: internalErrorCode, message: message)
    }

    /// What a barrier refused (Protocol, `board.activate`).
    public static func cancelled(barrier: String, cause: String) -> RPCError {
        RPCError(
            .cancelled, "cancelled by \(barrier): \(cause)",
            data: ["barrier": .string(barrier), "cause": .string(cause)])
    }

    /// Settings that were refused, with every fault and its path (Behaviour S2).
    public static func invalidSettings(faults: [(path: String, message: String)]) -> RPCError {
        let listed = faults.map { DataItem.object(["path": .string($0.path), "message": .string($0.message)]) }
        let first = faults.first.map { ": \($0.path): \($0.message)" } ?? ""
        return RPCError(.invalidSettings, "invalid settings" + first, data: ["faults": .array(listed)])
    }

    /// Why a line could not be scanned, as it is told to the peer.
    public init(_ fault: JSONFault) {
        switch fault {
        case .notJSON: self = .parseError("not JSON")
        case .notUTF8: self = .parseError("not UTF-8")
        case .tooDeep: self = RPCError(.limit, "nested too deep")
        case .tooLarge: self = RPCError(.limit, "too large to read")
        }
    }
}
