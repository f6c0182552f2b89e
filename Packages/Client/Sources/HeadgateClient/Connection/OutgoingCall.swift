import HeadgateWire

/// A request that is ready to be written.
struct OutgoingCall {
    /// The message with its LF. Its id is the call's number on every connection. A persistent call may have more lines,
    /// which go out with the first.
    private(set) var line: [UInt8]
    /// The length of its longest line in bytes, without the end of the line.
    private(set) var longestLine: Int
    /// The depth of nested arrays and objects.
    private(set) var depth: Int
    /// True if the client may write the call again when the outcome is unknown.
    let isRepeatable: Bool
    /// True if the client makes the call on each connection until it is abandoned. A persistent call asks for something
    /// that lasts as long as a connection.
    let isStanding: Bool
    /// The moment at which the caller stops waiting, in nanoseconds of the monotonic clock; nil for never.
    var deadline: Int64?
    /// True while it is written on the present connection and not answered.
    var isWritten = false
    /// True once it was written on any connection.
    var wasWritten = false
    /// True while the daemon grants it on the present connection. Only for persistent calls.
    var isGranted = false
    /// True once the daemon granted it on any connection.
    var wasGranted = false
    /// True from a refusal with a warning until the next grant.
    var isRefused = false
    /// The number of refusals with `conflict`.
    var conflicts = 0
    /// The number of conflicts that are repeated before the first grant.
    private let mostConflicts: Int

    /// Creates a request from its line, a JSON text and LF.
    init(
        line: [UInt8], isRepeatable: Bool, isStanding: Bool = false, deadline: Int64? = nil, mostConflicts: Int = 0
    ) {
        self.line = line
        self.isRepeatable = isRepeatable || isStanding
        self.isStanding = isStanding
        self.deadline = deadline
        self.mostConflicts = mostConflicts
        longestLine = line.count - 1
        depth = NestingDepth(of: line).deepest
    }

    /// Returns true if the client makes the call again after this refusal. It asks for what was granted before until
    /// the daemon grants it again. An earlier conflict may be with the former connection.
    func outlasts(_ error: RPCError) -> Bool {
        isStanding && (wasGranted || error.reason == .conflict && conflicts < mostConflicts)
    }

    /// True if the daemon may grant the call although its caller no longer waits.
    var mayBeGrantedYet: Bool { isStanding && wasWritten && !wasGranted }

    /// Replaces the lines.
    mutating func replace(with lines: [UInt8]) {
        line = lines
        longestLine = lines.split(separator: UInt8(ascii: "\n")).map(\.count).max() ?? 0
        depth = NestingDepth(of: lines).deepest
    }
}

/// Measures the depth of arrays and objects in a JSON text.
private struct NestingDepth {
    private(set) var deepest = 0
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    /// Measures a valid JSON text.
    init(of json: [UInt8]) {
        for byte in json {
            if isInString { passString(byte) } else { pass(byte) }
        }
    }

    private mutating func pass(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            deepest = max(deepest, depth)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: return
        }
    }

    private mutating func passString(_ byte: UInt8) {
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
        }
    }
}
