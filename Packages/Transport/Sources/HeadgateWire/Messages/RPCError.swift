import HeadgateData

/// An error as it is told to the peer (Protocol, Errors).
public struct RPCError: Error, Sendable, Equatable {
    /// One of JSON-RPC's codes, or `serviceCode`.
    public var code: Int
    /// What went wrong, for people.
    public var message: String
    /// What programs may go by: `reason` for the service's own errors, `path` for wrong params, and more.
    public var data: DataObject

    /// An error as it came or as it is to be sent; `data` with its `reason`, if it has one.
    public init(code: Int, message: String, data: DataObject = [:]) {
        self.code = code
        self.message = message
        self.data = data
    }

    /// One of the service's own errors.
    public init(_ reason: ErrorReason, _ message: String? = nil, data: DataObject = [:]) {
        code = RPCError.serviceCode
        self.message = message ?? reason.usualMessage
        self.data = ["reason": .string(reason.rawValue)]
        for (key, value) in data where key != "reason" { self.data[key] = value }
    }

    /// The reason; nil when there is none, or one that this version does not know: see `data` for its word.
    public var reason: ErrorReason? {
        data.get(key: "reason", as: String.self).flatMap(ErrorReason.init(rawValue:))
    }
}

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

extension RPCError {
    /// The error of an answer. What is missing or wrong in it is made up for, so that every answer can be told.
    public init(_ view: JSONView) {
        code = view.member("code")?.int.flatMap(Int.init(exactly:)) ?? RPCError.internalErrorCode
        message = view.member("message")?.string ?? "unknown error"
        data = view.member("data").map(DataObject.init(_:)) ?? [:]
    }
}

/// The stable words by which the service's own errors, all of code -32000, are told apart (Protocol, Errors).
public enum ErrorReason: String, Sendable, CaseIterable {
    /// The store is at its limit and does not take the event.
    case queueFull = "queue_full"
    /// The event is too large to be taken.
    case eventTooLarge = "event_too_large"
    /// A line was longer than allowed; it was skipped.
    case lineTooLong = "line_too_long"
    /// The store could not write or read.
    case storage
    /// The caller may not use this method.
    case unauthorized
    /// There is nothing of that name or id.
    case notFound = "not_found"
    /// It contradicts what is there already.
    case conflict
    /// It was cancelled, or refused by a barrier.
    case cancelled
    /// The process that was to do it has disconnected.
    case providerLost = "provider_lost"
    /// It took too long.
    case timeout
    /// Boards wait for each other in a circle, or too deep.
    case activationCycle = "activation_cycle"
    /// A limit of the connection or of the service.
    case limit
    /// The service is about to stop and takes nothing new.
    case shuttingDown = "shutting_down"
    /// The settings were refused as a whole; the faults say why.
    case invalidSettings = "invalid_settings"

    /// What to tell people when there is nothing better to say.
    public var usualMessage: String {
        switch self {
        case .queueFull: "the queue is full"
        case .eventTooLarge: "the event is too large"
        case .lineTooLong: "the line is too long"
        case .storage: "the store failed"
        case .unauthorized: "not allowed"
        case .notFound: "not found"
        case .conflict: "conflict"
        case .cancelled: "cancelled"
        case .providerLost: "the provider disconnected"
        case .timeout: "timed out"
        case .activationCycle: "activation cycle"
        case .limit: "limit exceeded"
        case .shuttingDown: "the service is shutting down"
        case .invalidSettings: "invalid settings"
        }
    }
}
