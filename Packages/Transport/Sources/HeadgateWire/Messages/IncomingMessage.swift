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
