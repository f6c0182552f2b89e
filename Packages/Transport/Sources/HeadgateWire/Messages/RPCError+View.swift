import HeadgateData

extension RPCError {
    /// The error of an answer. What is missing or wrong in it is made up for, so that every answer can be told.
    public init(_ view: JSONView) {
        code = view.member("code")?.int.flatMap(Int.init(exactly:)) ?? RPCError.internalErrorCode
        message = view.member("message")?.string ?? "unknown error"
        data = view.member("data").map(DataObject.init(_:)) ?? [:]
    }
}
