/// A decoder of messages from lines. One decoder serves any number of connections, one line at a time.
public final class MessageDecoder {
    private let scanner: JSONScanner
    /// A copy of the names, for fast access.
    private let names = MessageFields.names

    /// The nesting limit from the next line on (`limits.max_depth`). The line that is being processed is not affected.
    public var maxDepth: Int {
        get { scanner.maxDepth }
        set { scanner.maxDepth = newValue }
    }

    /// Creates a decoder with a nesting limit.
    public init(maxDepth: Int = JSONScanner.defaultDepth) {
        scanner = JSONScanner(maxDepth: maxDepth)
    }

    // The following functions are inlined into one, which creates the message in place instead of copying it.

    /// Decodes a line. A line that cannot be read is an invalid message with the error to send as the answer.
    public func decode(_ line: UnsafeRawBufferPointer) -> IncomingLine {
        do {
            return decode(try scanner.scan(line))
        } catch {
            return .message(.invalid(id: nil, RPCError(error)))
        }
    }

    @inline(__always)
    private func decode(_ view: JSONView) -> IncomingLine {
        guard let elements = view.elements else { return .message(IncomingMessage(view, names)) }
        guard elements.count > 0 else { return .message(.invalid(id: nil, .invalidRequest("the batch is empty"))) }
        return .batch(IncomingBatch(elements: elements, names: names))
    }
}

/// The contents of a line. They are valid until the next line is decoded, and only as long as the line's bytes stay in
/// place.
public enum IncomingLine {
    /// A single message.
    case message(IncomingMessage)
    /// A batch of messages, which are answered together.
    case batch(IncomingBatch)
}

/// The messages of a batch, at least one. Each is decoded when it is reached.
public struct IncomingBatch: Sequence {
    fileprivate let elements: JSONElements
    fileprivate let names: JSONNames

    /// The number of messages.
    public var count: Int { elements.count }

    public var underestimatedCount: Int { count }

    public func makeIterator() -> Iterator {
        Iterator(elements: elements.makeIterator(), names: names)
    }

    /// Decodes one message after another.
    public struct Iterator: IteratorProtocol {
        fileprivate var elements: JSONElements.Iterator
        fileprivate let names: JSONNames

        public mutating func next() -> IncomingMessage? {
            elements.next().map { IncomingMessage($0, names) }
        }
    }
}

extension IncomingMessage {
    /// Creates a message from a value; `invalid` if the value is not a message.
    @inline(__always)
    fileprivate init(_ view: JSONView, _ names: JSONNames) {
        guard view.kind == .object else {
            self = .invalid(id: nil, .invalidRequest("a message must be an object"))
            return
        }
        self = MessageFields(view, names).message
    }
}

/// A message from the peer. It is valid as long as its line.
public enum IncomingMessage {
    /// A request that needs one answer.
    case request(Request)
    /// A request that is never answered.
    case notification(Notification)
    /// The answer to a request of this side.
    case response(Response)
    /// A message that is not understood, to be answered with the error; without an id if it has no valid one.
    case invalid(id: RequestID?, RPCError)
    /// A notification with an error. It is counted, and not answered.
    case invalidNotification(RPCError)
    /// An answer without a valid result or error. It is not answered, because the peer would take an error as the
    /// answer to its own request with this id.
    case invalidResponse(id: RequestID, RPCError)

    /// A call of a method.
    public struct Request {
        /// The id, to be repeated in the answer.
        public let id: RequestID
        /// The name of the method, a string.
        public let method: JSONView
        /// The params, an object; nil if there are none.
        public let params: JSONView?
    }

    /// A call of a method without an answer.
    public struct Notification {
        /// The name of the method, a string.
        public let method: JSONView
        /// The params, an object; nil if there are none.
        public let params: JSONView?
    }

    /// An answer to a request.
    public struct Response {
        /// The id of the request; null if the peer could not read it.
        public let id: RequestID
        /// The result or error.
        public let outcome: Outcome
    }

    /// The outcome of a request.
    public enum Outcome {
        /// The request succeeded.
        case result(JSONView)
        /// The request was refused or failed.
        case failure(RPCError)
    }
}

/// The id of a request: a number, a string or null, in its original form for the answer. It is valid as long as its
/// line.
public struct RequestID {
    private let view: JSONView

    /// Creates an id; nil if the value cannot be an id.
    init?(_ view: JSONView) {
        switch view.kind {
        case .null, .number, .string: self.view = view
        case .bool, .array, .object: return nil
        }
    }

    /// The id as JSON, in its original form.
    public var raw: UnsafeRawBufferPointer { view.raw }

    /// The id as a whole number; nil for other ids.
    public var int: Int64? { view.int }
}

/// The members of a message that JSON-RPC defines, found in one pass.
private struct MessageFields {
    private let found: JSONFound

    static let names = JSONNames("jsonrpc", "id", "method", "params", "result", "error")

    init(_ message: JSONView, _ names: JSONNames) {
        found = message.find(names)
    }

    private var version: JSONView? { found[0] }
    private var id: JSONView? { found[1] }
    private var method: JSONView? { found[2] }
    private var params: JSONView? { found[3] }
    private var result: JSONView? { found[4] }
    private var failure: JSONView? { found[5] }

    /// The message of these members.
    @inline(__always)
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

    @inline(__always)
    private func call(of method: JSONView, id: RequestID?) -> IncomingMessage {
        if let params, params.kind != .object {
            let error = RPCError.invalidParams(path: "", "must be an object")
            return id.map { .invalid(id: $0, error) } ?? .invalidNotification(error)
        }
        guard let id else { return .notification(.init(method: method, params: params)) }
        return .request(.init(id: id, method: method, params: params))
    }

    /// Returns the message of an answer. Many libraries write both members, with null for the one that does not apply.
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

    /// Returns an invalid message. A message without a method but with a result or an error was meant as an answer.
    private func invalid(_ id: RequestID?, _ message: String) -> IncomingMessage {
        guard let id, method == nil, result != nil || failure != nil else {
            return .invalid(id: id, .invalidRequest(message))
        }
        return .invalidResponse(id: id, .invalidRequest(message))
    }
}
