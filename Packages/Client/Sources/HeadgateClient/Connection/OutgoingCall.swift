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
    /// True if the client makes the call on each connection until it is cancelled. A persistent call asks for something
    /// that lasts as long as a connection.
    let isPersistent: Bool
    /// The moment at which the caller stops waiting, in nanoseconds of the monotonic clock; nil for never.
    var deadline: Int64?
    private(set) var stage = Stage.waiting
    private var record = Record.new
    /// The number of refusals with `conflict`.
    private var conflicts = 0
    /// The most refusals with `conflict` after which the client repeats the call, before the first grant.
    private let mostConflicts: Int

    /// Creates a request from its line, a JSON text and LF.
    init(
        line: [UInt8], isRepeatable: Bool, isPersistent: Bool = false, deadline: Int64? = nil, mostConflicts: Int = 0
    ) {
        self.line = line
        self.isRepeatable = isRepeatable || isPersistent
        self.isPersistent = isPersistent
        self.deadline = deadline
        self.mostConflicts = mostConflicts
        longestLine = line.count - 1
        depth = NestingDepth(of: line).deepest
    }

    /// The stage of the call on the present connection. The end of the connection leads back to `waiting`.
    enum Stage {
        /// It is to be written, for the first time or again. Next: `written`.
        case waiting
        /// It is written and not answered. An answer ends it, unless it is persistent. Next: `granted`; `waiting` after
        /// a refusal that the call outlasts.
        case written
        /// The daemon grants the persistent call. Next: `waiting`, to be made again on the same connection.
        case granted
    }

    /// The progress of the call over all connections, in ascending order.
    private enum Record: Comparable {
        case new
        /// It was written.
        case written
        /// The daemon granted the persistent call.
        case granted
        /// The daemon granted it once, and has refused it since. The caller is warned of that once. Next: `granted`.
        case refused
    }

    /// True while it is written on the present connection and not answered.
    var isWritten: Bool { stage == .written }
    /// True while the daemon grants it on the present connection.
    var isGranted: Bool { stage == .granted }
    /// True once it was written on any connection.
    var wasWritten: Bool { record >= .written }
    /// True once the daemon granted it on any connection.
    var wasGranted: Bool { record >= .granted }
    /// True from a refusal with a warning until the next grant.
    var isRefused: Bool { record == .refused }

    // MARK: Facts

    /// Notes that the call is written on the present connection.
    mutating func written() {
        stage = .written
        record = max(record, .written)
    }

    /// Notes that the answer has arrived, or cannot arrive any more. Ignored if the call is not written.
    mutating func unwritten() {
        if stage == .written { stage = .waiting }
    }

    /// Notes that the daemon granted the persistent call, and drops the deadline, which was for the first grant.
    mutating func granted() {
        stage = .granted
        record = .granted
        deadline = nil
    }

    /// Notes that the daemon refused a persistent call, which the client makes again. A conflict is only counted.
    mutating func refused(isConflict: Bool) {
        if isConflict { conflicts += 1 } else { record = .refused }
    }

    /// Records that the grant no longer counts. Does nothing if the call is not granted.
    mutating func lostGrant() {
        if stage == .granted { stage = .waiting }
    }

    /// Returns true if the client makes the call again after this refusal. It repeats a call that was granted before
    /// until the daemon grants it again. A conflict before the first grant may be with the client's earlier connection.
    func outlasts(_ error: RPCError) -> Bool {
        isPersistent && (wasGranted || error.reason == .conflict && conflicts < mostConflicts)
    }

    /// True if the daemon may grant the call although its caller no longer waits.
    var mayBeGrantedYet: Bool { isPersistent && wasWritten && !wasGranted }

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
