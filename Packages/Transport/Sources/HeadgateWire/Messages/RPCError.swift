import HeadgateData

/// An error in the form in which it is sent to the peer (Protocol, Errors).
public struct RPCError: Error, Sendable, Equatable {
    /// One of JSON-RPC's codes, or `serviceCode`.
    public var code: Int
    /// The description, for people.
    public var message: String
    /// Data for programs, for example `reason` for the service's own errors and `path` for wrong params.
    public var data: DataObject
    /// The JSON text of the message and the data, if they contain what `message` and `data` cannot hold, like half a
    /// surrogate pair (Behaviour P6). Nil if `message` and `data` contain all of it.
    public var rawJSON: RawJSON?

    /// The JSON text of an error's members.
    public struct RawJSON: Sendable, Equatable {
        /// The message, a JSON string.
        public var message: [UInt8]
        /// The data, an object; nil if there is none.
        public var data: [UInt8]?

        public init(message: [UInt8], data: [UInt8]?) {
            (self.message, self.data) = (message, data)
        }
    }

    /// Creates an error with the given members; `data` includes the `reason` if there is one.
    public init(code: Int, message: String, data: DataObject = [:]) {
        self.code = code
        self.message = message
        self.data = data
    }

    /// Creates one of the service's own errors.
    public init(_ reason: ErrorReason, _ message: String? = nil, data: DataObject = [:]) {
        code = RPCError.serviceCode
        self.message = message ?? reason.defaultMessage
        self.data = ["reason": .string(reason.rawValue)]
        for (key, value) in data where key != "reason" { self.data[key] = value }
    }

    /// The reason; nil if there is none, or if this version does not know its word. `data` contains its word.
    public var reason: ErrorReason? {
        data.get(key: "reason", as: String.self).flatMap(ErrorReason.init(rawValue:))
    }
}

extension RPCError: CustomStringConvertible {
    /// The same as ``message``, which programs print for an error.
    public var description: String { message }
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
    /// The service failed for a reason without its own code.
    public static let internalErrorCode = -32603
    /// The code of all of the service's own errors, which have different reasons.
    public static let serviceCode = -32000

    /// Returns the error for a line that is not JSON or not UTF-8.
    public static func parseError(_ message: String = "not JSON") -> RPCError {
        RPCError(code: parseErrorCode, message: message)
    }

    /// Returns the error for a message that is not a JSON-RPC 2.0 message.
    public static func invalidRequest(_ message: String) -> RPCError {
        RPCError(code: invalidRequestCode, message: message)
    }

    /// Returns the error for a method that does not exist.
    public static func methodNotFound(_ method: String) -> RPCError {
        RPCError(code: methodNotFoundCode, message: "no method \(shortened(method))")
    }

    /// Returns the beginning of a text from outside, for a message.
    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > mostOfName else { return text }
        return String(decoding: text.utf8.prefix(mostOfName), as: UTF8.self) + "…"
    }

    /// The most bytes of an unknown name in a message.
    private static let mostOfName = 128

    /// Returns the error for a missing or wrong parameter. The path is relative to `params` (`events[1].event`), and
    /// empty for the params as a whole.
    public static func invalidParams(path: String, _ message: String) -> RPCError {
        let subject = path.isEmpty ? "params" : path
        return RPCError(code: invalidParamsCode, message: "\(subject): \(message)", data: ["path": .string(path)])
    }

    /// Returns the error for a failure without its own code.
    public static func internalError(_ message: String = "internal error") -> RPCError {
        RPCError(code: internalErrorCode, message: message)
    }

    /// Returns the error for an activation that a barrier refused (Protocol, `board.activate`).
    public static func cancelled(barrier: String, cause: String) -> RPCError {
        RPCError(
            .cancelled, "cancelled by \(barrier): \(cause)",
            data: ["barrier": .string(barrier), "cause": .string(cause)])
    }

    /// Returns the error for refused settings, with every fault and its path (Behaviour S2).
    public static func invalidSettings(faults: [(path: String, message: String)]) -> RPCError {
        let listed = faults.map { DataItem.object(["path": .string($0.path), "message": .string($0.message)]) }
        let first = faults.first.map { $0.path.isEmpty ? ": \($0.message)" : ": \($0.path): \($0.message)" } ?? ""
        return RPCError(.invalidSettings, "invalid settings" + first, data: ["faults": .array(listed)])
    }

    /// Creates the error for a line that could not be scanned.
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
    /// Reads the error of an answer. Missing or malformed members get defaults, so that every answer can be reported.
    public init(_ view: JSONView) {
        code = view.member("code")?.int.flatMap(Int.init(exactly:)) ?? RPCError.internalErrorCode
        message = view.member("message")?.string ?? "unknown error"
        data = view.member("data").map(DataObject.init(_:)) ?? [:]
        rawJSON = RPCError.rawJSON(view)
    }

    /// Returns the spelling of an error with half a surrogate pair in its message or data, or nil.
    private static func rawJSON(_ view: JSONView) -> RawJSON? {
        guard let message = view.member("message"), message.kind == .string, view.hasHalves else { return nil }
        let data = view.member("data").flatMap { $0.kind == .object ? $0.plainText : nil }
        return RawJSON(message: message.plainText, data: data)
    }
}

/// The stable reason words of the service's own errors, which all have the code -32000 (Protocol, Errors).
public enum ErrorReason: String, Sendable, CaseIterable {
    /// The store is at its limit and does not take the event.
    case queueFull = "queue_full"
    /// The event is too large.
    case eventTooLarge = "event_too_large"
    /// A line was too long, and was skipped.
    case lineTooLong = "line_too_long"
    /// The store could not write or read.
    case storage
    /// The caller has no right to use this method.
    case unauthorized
    /// There is no object with that name or id.
    case notFound = "not_found"
    /// The request contradicts the present state.
    case conflict
    /// The operation was cancelled, or refused by a barrier.
    case cancelled
    /// The process that was to serve the request has disconnected.
    case providerLost = "provider_lost"
    /// The operation timed out.
    case timeout
    /// Boards wait for each other in a cycle, or in too long a chain.
    case activationCycle = "activation_cycle"
    /// A limit of the connection or of the daemon was reached.
    case limit
    /// The daemon is stopping and accepts nothing new.
    case shuttingDown = "shutting_down"
    /// The settings were refused as a whole. The faults say why.
    case invalidSettings = "invalid_settings"

    /// The default message.
    public var defaultMessage: String {
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
        case .shuttingDown: "the daemon is shutting down; send the call again on the next connection"
        case .invalidSettings: "invalid settings"
        }
    }
}
