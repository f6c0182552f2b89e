import HeadgateWire

/// What the daemon takes at most; it says so when it is greeted.
///
/// It answers a line beyond these without the request's id, so that no caller would ever learn of it: they are kept
/// here.
struct DaemonLimits: Equatable {
    /// The longest line, its end not counted.
    var lineBytes = 1_048_576
    /// How deep a message may be nested.
    var depth = 64

    init() {}

    /// Reads the `limits` of the answer to `hello`; what is missing there is as usual.
    init(greeting: JSONView) {
        guard let limits = greeting.member("limits") else { return }
        lineBytes = limits.member("max_line_bytes")?.int.flatMap(Int.init(exactly:)) ?? lineBytes
        depth = limits.member("max_depth")?.int.flatMap(Int.init(exactly:)) ?? depth
    }

    /// Why a request cannot be sent; nil when it can.
    func fault(of call: OutgoingCall) -> RPCError? {
        guard call.longestLine <= lineBytes else {
            return RPCError(.lineTooLong, "the message is longer than the \(lineBytes) bytes that the daemon takes")
        }
        guard call.depth <= depth else {
            return RPCError(.limit, "nested deeper than the \(depth) levels that the daemon takes")
        }
        return nil
    }
}
