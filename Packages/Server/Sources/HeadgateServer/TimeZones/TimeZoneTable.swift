import HeadgateCore

/// A time zone as the time zone database has it compiled: how far it is from UTC, at every moment (Behaviour B24).
///
/// No library that Debian has does as well; the decision `Docs/Decisions/0032-what-is-left-to-libraries.md` says why.
struct TimeZoneTable: Equatable {
    /// A moment from which on an offset holds.
    struct Transition: Equatable {
        /// Seconds since the beginning of 1970 in UTC.
        var seconds: Int64
        /// Seconds east of UTC from then on.
        var offset: Int
    }

    /// What holds before the first transition: seconds east of UTC.
    var firstOffset: Int
    /// The changes that are written down, in order of time.
    var transitions: [Transition] = []
    /// The rule for what comes after them; nil: the last offset stays.
    var laterRule: PosixTimeZone?

    /// The zone of UTC.
    static let utc = TimeZoneTable(firstOffset: 0)

    /// What the service asks of a zone.
    var rules: TimeZoneRules { TimeZoneRules(secondsEast: offset) }

    /// Seconds east of UTC at a moment, given in seconds since the beginning of 1970 in UTC.
    func offset(at seconds: Int64) -> Int {
        guard let last = transitions.last else { return laterRule?.offset(at: seconds) ?? firstOffset }
        if seconds >= last.seconds { return laterRule?.offset(at: seconds) ?? last.offset }
        let later = transitions.partitioningIndex { $0.seconds > seconds }
        return later == 0 ? firstOffset : transitions[later - 1].offset
    }
}

/// Why bytes are no time zone.
enum TimeZoneFault: Error, Equatable, Sendable {
    /// They do not begin as such a file does.
    case notTZif
    /// They end too early.
    case cutOff
    /// They contradict themselves; in a few words, how.
    case malformed(String)
}

extension TimeZoneTable {
    /// Reads a time zone as the time zone database has it compiled (TZif, RFC 9636), of any version.
    init(tzif bytes: [UInt8]) throws(TimeZoneFault) {
        var file = TZifReader(bytes)
        var header = try file.header()
        guard header.version > 0 else {
            self = try file.rules(header, secondsSize: 4)
            return
        }
        // The first block is for old readers; the second says the same with more room.
        try file.skip(header.blockSize(secondsSize: 4))
        header = try file.header()
        self = try file.rules(header, secondsSize: 8)
        laterRule = try file.footer()
    }

    /// Reads a time zone from a line of text, as POSIX has it for `TZ`; nil when it is none.
    init?(posix text: String) {
        guard let rule = PosixTimeZone(text.utf8) else { return nil }
        self.init(firstOffset: rule.standardOffset, laterRule: rule)
    }
}

/// The bytes of a TZif file, read from front to back.
private struct TZifReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The counts at the head of a block, in the order in which the file has them.
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

        /// The size of what stands behind the types' names.
        func trailerSize(_ secondsSize: Int) -> Int {
            leapSeconds * (secondsSize + 4) + standardIndicators + utIndicators
        }
    }

    mutating func header() throws(TimeZoneFault) -> Header {
        guard bytes.count - place >= 5, bytes[place..<place + 4].elementsEqual("TZif".utf8) else { throw .notTZif }
        let version = bytes[place + 4] == 0 ? 0 : Int(bytes[place + 4]) - 0x30
        try skip(20)
        var counts: [Int] = []
        for _ in 0..<6 { counts.append(Int(try number(4))) }
        guard counts.allSatisfy({ 0...100_000 ~= $0 }), counts[4] > 0 else { throw .malformed("counts") }
        return Header(
            version: version, utIndicators: counts[0], standardIndicators: counts[1], leapSeconds: counts[2],
            transitions: counts[3], types: counts[4], nameBytes: counts[5])
    }

    /// A block behind its header.
    mutating func rules(_ header: Header, secondsSize: Int) throws(TimeZoneFault) -> TimeZoneTable {
        let moments = try numbers(header.transitions, size: secondsSize)
        let places = try take(header.transitions)
        var offsets: [Int] = []
        for _ in 0..<header.types {
            offsets.append(Int(try number(4)))
            try skip(2)
        }
        try skip(header.nameBytes + header.trailerSize(secondsSize))
        guard places.allSatisfy({ $0 < header.types }) else { throw .malformed("a transition to no known type") }
        guard zip(moments, moments.dropFirst()).allSatisfy({ $0 < $1 }) else { throw .malformed("order") }
        guard offsets.allSatisfy({ abs($0) <= 26 * 3600 }) else { throw .malformed("an offset over a day") }
        let transitions = zip(moments, places).map { TimeZoneTable.Transition(seconds: $0, offset: offsets[Int($1)]) }
        return TimeZoneTable(firstOffset: offsets[0], transitions: transitions)
    }

    /// The rule for what comes later, between two line ends; nil when there is none.
    mutating func footer() throws(TimeZoneFault) -> PosixTimeZone? {
        guard try take(1).first == 0x0A else { throw .malformed("no footer") }
        let text = bytes[place...].prefix { $0 != 0x0A }
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

    /// A big-endian whole number with a sign.
    private mutating func number(_ size: Int) throws(TimeZoneFault) -> Int64 {
        let bits = try take(size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return size == 4 ? Int64(Int32(truncatingIfNeeded: bits)) : Int64(bitPattern: bits)
    }

    private mutating func take(_ count: Int) throws(TimeZoneFault) -> ArraySlice<UInt8> {
        guard count <= bytes.count - place else { throw .cutOff }
        defer { place += count }
        return bytes[place..<place + count]
    }
}

extension RandomAccessCollection {
    /// The place of the first element that `belongs`, when all that do come behind all that do not.
    fileprivate func partitioningIndex(where belongs: (Element) -> Bool) -> Index {
        var (low, count) = (startIndex, count)
        while count > 0 {
            let half = count / 2
            let middle = index(low, offsetBy: half)
            if belongs(self[middle]) {
                count = half
            } else {
                low = index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}
