import HeadgateCore
import HeadgateData

/// A time zone of the time zone database: its offset from UTC at every time (Behaviour B24).
///
/// No library in Debian does this well enough. `Docs/Decisions/0032-libraries-leave-to-them-what-they-do-as-well-for-the-user.md` says why.
struct TimeZoneTable: Equatable {
    /// A time from which an offset applies.
    struct Transition: Equatable {
        /// Seconds since 1970-01-01 00:00 UTC.
        var seconds: Int64
        /// Seconds east of UTC from this time on.
        var offset: Int
    }

    /// The offset before the first transition, in seconds east of UTC.
    var firstOffset: Int
    /// The transitions in the file, in order of time.
    var transitions: [Transition] = []
    /// The rule for times after the transitions. If nil, the last offset continues.
    var laterRule: PosixTimeZone?

    /// The zone of UTC.
    static let utc = TimeZoneTable(firstOffset: 0)

    /// The zone as Core's schedule barriers use it.
    var rules: TimeZoneRules { TimeZoneRules(secondsEast: offset) }

    /// Returns the seconds east of UTC at a time, given in seconds since 1970-01-01 00:00 UTC.
    func offset(at seconds: Int64) -> Int {
        guard let last = transitions.last else { return laterRule?.offset(at: seconds) ?? firstOffset }
        if seconds >= last.seconds { return laterRule?.offset(at: seconds) ?? last.offset }
        let later = BinarySearch.first(in: 0..<transitions.count) { transitions[$0].seconds > seconds }
        return later == 0 ? firstOffset : transitions[later - 1].offset
    }
}

/// The reason why bytes cannot be read as a time zone.
enum TimeZoneFault: Error, Equatable, Sendable {
    /// The bytes do not begin with the file format's magic number.
    case notTZif
    /// The bytes end too early.
    case cutOff
    /// The bytes contradict themselves. The text says how.
    case malformed(String)
}

extension TimeZoneTable {
    /// Reads a compiled file of the time zone database (TZif, RFC 9636), of any version.
    init(tzif bytes: [UInt8]) throws(TimeZoneFault) {
        var file = TZifReader(bytes)
        var header = try file.header()
        guard header.version > 0 else {
            self = try file.rules(header, secondsSize: 4)
            return
        }
        // The first block is for old readers. The second block has the same data in 64 bits.
        try file.skip(header.blockSize(secondsSize: 4))
        header = try file.header()
        self = try file.rules(header, secondsSize: 8)
        laterRule = try file.footer()
    }

    /// Makes a zone from POSIX's form of `TZ`. Returns nil if the text is malformed.
    init?(posix text: String) {
        guard let rule = PosixTimeZone(text.utf8) else { return nil }
        self.init(firstOffset: rule.standardOffset, laterRule: rule)
    }
}

/// A reader of a TZif file, from the first byte to the last.
private struct TZifReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The counts in the header of a block, in the order of the file.
    struct Header {
        var version: Int
        var utIndicators: Int
        var standardIndicators: Int
        var leapSeconds: Int
        var transitions: Int
        var types: Int
        var nameBytes: Int

        func blockSize(secondsSize: Int) -> Int {
            transitions * (secondsSize + 1) + types * 6 + nameBytes + trailerSize(secondsSize)
        }

        /// Returns the size of the data behind the types' names.
        func trailerSize(_ secondsSize: Int) -> Int {
            leapSeconds * (secondsSize + 4) + standardIndicators + utIndicators
        }
    }

    mutating func header() throws(TimeZoneFault) -> Header {
        guard bytes.count - position >= 5, bytes[position..<position + 4].elementsEqual("TZif".utf8) else {
            throw .notTZif
        }
        let version = bytes[position + 4] == 0 ? 0 : Int(bytes[position + 4]) - 0x30
        try skip(20)
        var counts: [Int] = []
        for _ in 0..<6 { counts.append(Int(try number(4))) }
        guard counts.allSatisfy({ 0...100_000 ~= $0 }), counts[4] > 0 else { throw .malformed("counts") }
        return Header(
            version: version, utIndicators: counts[0], standardIndicators: counts[1], leapSeconds: counts[2],
            transitions: counts[3], types: counts[4], nameBytes: counts[5])
    }

    /// Reads the block behind a header.
    mutating func rules(_ header: Header, secondsSize: Int) throws(TimeZoneFault) -> TimeZoneTable {
        let moments = try numbers(header.transitions, size: secondsSize)
        let typeIndexes = try take(header.transitions)
        var offsets: [Int] = []
        for _ in 0..<header.types {
            offsets.append(Int(try number(4)))
            try skip(2)
        }
        try skip(header.nameBytes + header.trailerSize(secondsSize))
        guard typeIndexes.allSatisfy({ $0 < header.types }) else { throw .malformed("a transition to no known type") }
        guard zip(moments, moments.dropFirst()).allSatisfy({ $0 < $1 }) else { throw .malformed("order") }
        guard offsets.allSatisfy({ abs($0) <= 26 * 3600 }) else { throw .malformed("an offset over a day") }
        let transitions = zip(moments, typeIndexes).map {
            TimeZoneTable.Transition(seconds: $0, offset: offsets[Int($1)])
        }
        return TimeZoneTable(firstOffset: offsets[0], transitions: transitions)
    }

    /// Reads the rule for later times, between two line ends. Returns nil if there is none.
    mutating func footer() throws(TimeZoneFault) -> PosixTimeZone? {
        guard try take(1).first == 0x0A else { throw .malformed("no footer") }
        let text = bytes[position...].prefix { $0 != 0x0A }
        guard text.endIndex < bytes.count else { throw .cutOff }
        if text.isEmpty { return nil }
        guard let rule = PosixTimeZone(text) else { throw .malformed("the footer") }
        return rule
    }

    mutating func skip(_ count: Int) throws(TimeZoneFault) {
        _ = try take(count)
    }

    private mutating func numbers(_ count: Int, size: Int) throws(TimeZoneFault) -> [Int64] {
        var numbers: [Int64] = []
        for _ in 0..<count { numbers.append(try number(size)) }
        return numbers
    }

    /// Reads a signed big-endian integer.
    private mutating func number(_ size: Int) throws(TimeZoneFault) -> Int64 {
        let bits = try take(size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return size == 4 ? Int64(Int32(truncatingIfNeeded: bits)) : Int64(bitPattern: bits)
    }

    private mutating func take(_ count: Int) throws(TimeZoneFault) -> ArraySlice<UInt8> {
        guard count <= bytes.count - position else { throw .cutOff }
        defer { position += count }
        return bytes[position..<position + count]
    }
}
