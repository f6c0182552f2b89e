/// Makes messages of lines. One decoder serves any number of connections, one line at a time.
public final class MessageDecoder {
    private let scanner: JSONScanner
    /// Looked for in each message, and so at hand.
    private let names = MessageFields.names

    /// How deep lines may be nested from the next one on (`limits.max_depth`). What is left of one that is being handled stays as it is.
    public var maxDepth: Int {
        get { scanner.maxDepth }
        set { scanner.maxDepth = newValue }
    }

    /// A decoder for lines nested so deep.
    public init(maxDepth: Int = JSONScanner.usualDepth) {
        scanner = JSONScanner(maxDepth: maxDepth)
    }

    // What follows is inlined into one function, which makes the message where it is returned instead of handing it up by copies.

    /// What a line holds. A line that cannot be read is an invalid message with the error to answer.
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
        guard elements.count > 0 else { return .message(.invalid(id: nil, .invalidRequest("an empty batch"))) }
        return .batch(IncomingBatch(elements: elements, names: names))
    }
}

/// What one line holds. Valid until the next line is decoded, and only as long as the line's bytes stay in place.
public enum IncomingLine {
    /// One message.
    case message(IncomingMessage)
    /// Several, to be answered together.
    case batch(IncomingBatch)
}

/// The messages of a batch, at least one, each decoded as it is reached.
public struct IncomingBatch: Sequence {
    fileprivate let elements: JSONElements
    fileprivate let names: JSONNames

    /// How many messages there are.
    public var count: Int { elements.count }

    public var underestimatedCount: Int { count }

    public func makeIterator() -> Iterator {
        Iterator(elements: elements.makeIterator(), names: names)
    }

    /// Decodes one message after the other.
    public struct Iterator: IteratorProtocol {
        fileprivate var elements: JSONElements.Iterator
        fileprivate let names: JSONNames

        public mutating func next() -> IncomingMessage? {
            elements.next().map { IncomingMessage($0, names) }
        }
    }
}

extension IncomingMessage {
    /// The message that a value is; `invalid` when it is none.
    @inline(__always)
    fileprivate init(_ view: JSONView, _ names: JSONNames) {
        guard view.kind == .object else {
            self = .invalid(id: nil, .invalidRequest("a message is an object"))
            return
        }
        self = MessageFields(view, names).message
    }
}

/// One message from the other side. Valid as long as the line it comes from.
public enum IncomingMessage {
    /// A request, to be answered once.
    case request(Request)
    /// A request that is never answered.
    case notification(Notification)
    /// The answer to a request of ours.
    case response(Response)
    /// What cannot be understood, to be answered with the error; without an id where none could be made out.
    case invalid(id: RequestID?, RPCError)
    /// A notification that cannot be served. It is not answered, only counted.
    case invalidNotification(RPCError)
    /// An answer that does not say what came of a request of ours. It is not answered: the other side would take that
    /// for the answer to its own request of that id.
    case invalidResponse(id: RequestID, RPCError)

    /// A call of a method.
    public struct Request {
        /// Its id, to be repeated in the answer.
        public let id: RequestID
        /// The method's name, a string.
        public let method: JSONView
        /// The params, an object; nil when there are none.
        public let params: JSONView?
    }

    /// A call of a method that wants no answer.
    public struct Notification {
        /// The method's name, a string.
        public let method: JSONView
        /// The params, an object; nil when there are none.
        public let params: JSONView?
    }

    /// An answer to a request.
    public struct Response {
        /// The id of the request; null when the other side could not make it out.
        public let id: RequestID
        /// What came of it.
        public let outcome: Outcome
    }

    /// What came of a request.
    public enum Outcome {
        /// It was served.
        case result(JSONView)
        /// It was refused, or failed.
        case failure(RPCError)
    }
}

/// The id of a request: a number, a string or null, kept as it was written, since an answer has to repeat it.
///
/// Valid as long as the line it comes from.
public struct RequestID {
    private let view: JSONView

    /// Nil when the value cannot be an id.
    init?(_ view: JSONView) {
        switch view.kind {
        case .null, .number, .string: self.view = view
        case .bool, .array, .object: return nil
        }
    }

    /// The id in JSON, as it was written.
    public var raw: UnsafeRawBufferPointer { view.raw }

    /// The id as a whole number; nil when it is none.
    public var int: Int64? { view.int }
}

/// The members of a message that JSON-RPC knows, found in one pass.
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

    /// The message they make.
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
