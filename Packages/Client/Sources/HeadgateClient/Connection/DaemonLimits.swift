import HeadgateData
import HeadgateWire

/// The limits that the daemon reports in its answer to the greeting.
///
/// The daemon answers a line beyond its limits without the request's id, so no caller would get that answer. The
/// client checks the limits before it writes.
struct DaemonLimits: Equatable {
    /// The longest line in bytes, without its end.
    var lineBytes = 1_048_576
    /// The greatest depth of a message.
    var depth = 64

    init() {}

    /// Reads the `limits` of the answer to `hello`. Missing members have their defaults.
    init(greeting: JSONView) {
        guard let limits = greeting.member("limits") else { return }
        lineBytes = limits.member("max_line_bytes")?.int.flatMap(Int.init(exactly:)) ?? lineBytes
        depth = limits.member("max_depth")?.int.flatMap(Int.init(exactly:)) ?? depth
    }

    /// Returns the error of a request beyond the limits, or nil if it may be written.
    func fault(of call: OutgoingCall) -> RPCError? {
        guard call.longestLine <= lineBytes else {
            return RPCError(.lineTooLong, "the message is longer than the \(lineBytes) bytes that the daemon accepts")
        }
        guard call.depth <= depth else {
            return RPCError(
                .limit, "nested deeper than the \(depth) levels that the daemon accepts",
                data: ["max_depth": .number(DataNumber(depth))])
        }
        return nil
    }
}
