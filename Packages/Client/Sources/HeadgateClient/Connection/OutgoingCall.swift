import HeadgateWire

/// A request, ready to be written.
struct OutgoingCall {
    /// The message with its LF. Its id is the call's number on every connection. Behind that of a standing call there
    /// may be others, which go out with it.
    private(set) var line: [UInt8]
    /// How long the longest of its lines is, its end not counted.
    private(set) var longestLine: Int
    /// How deep arrays and objects are nested in it.
    private(set) var depth: Int
    /// Whether it may be sent again when it is not known what came of it.
    let isRepeatable: Bool
    /// Whether it is made again on each connection, as long as its caller wants it: what it asks for lasts as long as a
    /// connection.
    let isStanding: Bool
    /// When its caller stops waiting, in nanoseconds of the monotonic clock; nil for never.
    var deadline: Int64?
    /// Whether it has been written on the present connection and is not answered.
    var isWritten = false
    /// True once it has been written on any connection.
    var wasWritten = false
    /// Whether the daemon has granted it on the present connection; only for one that is standing.
    var isGranted = false
    /// Whether the daemon has granted it on any connection.
    var wasGranted = false
    /// True from a refusal that was reported until the next grant.
    var isRefused = false
    /// So often it was refused since the daemon takes it for somebody else's.
    var conflicts = 0
    /// So often it is tried again before it was granted.
    private let mostConflicts: Int

    /// A request with the line that it is sent as, which is one whole JSON text and LF.
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

    /// Returns true if the call is made again after this refusal. What the daemon has granted on an earlier connection is
    /// asked for until it grants it again. A conflict before that may be with the connection before.
    func outlasts(_ error: RPCError) -> Bool {
        isStanding && (wasGranted || error.reason == .conflict && conflicts < mostConflicts)
    }

    /// True if the daemon may grant it on some connection though nobody waits for that any more.
    var mayBeGrantedYet: Bool { isStanding && wasWritten && !wasGranted }

    /// What it asks for has changed: from now on it is written as these lines.
    mutating func replace(with lines: [UInt8]) {
        line = lines
        longestLine = lines.split(separator: UInt8(ascii: "\n")).map(\.count).max() ?? 0
        depth = NestingDepth(of: lines).deepest
    }
}

/// How deep arrays and objects are nested in a JSON text, told byte by byte.
private struct NestingDepth {
    private(set) var deepest = 0
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    /// Measures a text that is valid JSON.
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
