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
