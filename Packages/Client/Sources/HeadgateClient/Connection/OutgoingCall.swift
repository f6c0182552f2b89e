/// A request, ready to be written.
struct OutgoingCall {
    /// The message with its LF. Its id is the call's number on every connection.
    let line: [UInt8]
    /// How deep arrays and objects are nested in it.
    let depth: Int
    /// Whether it may be sent again when it is not known what came of it.
    let isRepeatable: Bool
    /// Whether it is made again on each connection, as long as its caller wants it: what it asks for lasts as long as a
    /// connection.
    let isStanding: Bool
    /// When its caller stops waiting, in nanoseconds of the monotonic clock; nil for never.
    let deadline: Int64?
    /// Whether it has been written on the present connection and is not answered.
    var isWritten = false
    /// Whether the daemon has granted it on the present connection; only for one that is standing.
    var isGranted = false

    /// A request with the line that it is sent as, which is one whole JSON text and LF.
    init(line: [UInt8], isRepeatable: Bool, isStanding: Bool = false, deadline: Int64? = nil) {
        self.line = line
        self.isRepeatable = isRepeatable || isStanding
        self.isStanding = isStanding
        self.deadline = deadline
        depth = NestingDepth(of: line).deepest
    }
}
