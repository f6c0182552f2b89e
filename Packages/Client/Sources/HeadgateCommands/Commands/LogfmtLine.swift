import HeadgateData

/// The pairs of a line in logfmt, such as `time=2026-03-01T10:00:00Z level=warn msg="disk is full" free=0`. A pure value.
///
/// Pairs are separated by spaces. A value is a word, or a text in double quotes with the escapes of JSON. A name without
/// `=` is true. If a name repeats, the last pair counts.
struct LogfmtLine {
    /// The data of the event, with the members that all of Headgate's loggers use: `level` and `message`.
    private(set) var data: DataObject = [:]
    /// The time of the record, from `time`, `ts` or `timestamp` in RFC 3339; nil if there is none.
    private(set) var time: Timestamp?

    /// The reason why a line is not logfmt.
    enum Fault: Error, Equatable {
        /// The line has no pair.
        case noPair
        /// A name is missing at this byte, counted from 1.
        case noName(Int)
        /// The quotes of this name's value are not closed.
        case openQuotes(String)

        /// The fault, as a text for people.
        var text: String {
            switch self {
            case .noPair: "no pair like level=info"
            case .noName(let byte): "byte \(byte): expected a name like level"
            case .openQuotes(let name): "the quotes of \(name) are not closed"
            }
        }
    }

    init(_ line: [UInt8]) throws(Fault) {
        var cursor = LogfmtCursor(line)
        var hasPair = false
        while let (name, value) = try cursor.next() {
            hasPair = hasPair || value != nil
            add(name, value ?? true)
        }
        guard hasPair else { throw .noPair }
    }

    private mutating func add(_ name: String, _ value: DataItem) {
        let text = value.get(as: String.self)
        if ["time", "ts", "timestamp"].contains(name), let found = text.flatMap(Timestamp.init(rfc3339:)) {
            time = found
        } else if ["level", "lvl", "severity"].contains(name) {
            data["level"] = text.map { .string(LogLevel.named($0) ?? $0) } ?? value
        } else {
            data[name == "msg" && data["message"] == nil ? "message" : name] = value
        }
    }
}

/// Reads the pairs of a line in order.
private struct LogfmtCursor {
    private let line: [UInt8]
    private var index = 0

    init(_ line: [UInt8]) {
        self.line = line
    }

    /// Returns the next pair, with nil for a name without a value; nil at the end.
    mutating func next() throws(LogfmtLine.Fault) -> (name: String, value: DataItem?)? {
        skip { $0 <= 0x20 }
        guard index < line.count else { return nil }
        let start = index
        skip { $0 > 0x20 && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "\"") }
        guard index > start else { throw .noName(start + 1) }
        let name = String(decoding: line[start..<index], as: UTF8.self)
        guard peek == UInt8(ascii: "=") else { return (name, nil) }
        index += 1
        return (name, peek == UInt8(ascii: "\"") ? try quoted(name) : word())
    }

    private var peek: UInt8? { index < line.count ? line[index] : nil }

    private mutating func skip(while isSkipped: (UInt8) -> Bool) {
        while index < line.count, isSkipped(line[index]) { index += 1 }
    }

    /// Reads a value without quotes: a number, `true`, `false` or `null` as in JSON, with all digits, or a text.
    private mutating func word() -> DataItem {
        let start = index
        skip { $0 > 0x20 }
        let bytes = Array(line[start..<index])
        let text = DataItem.string(String(decoding: bytes, as: UTF8.self))
        guard let first = bytes.first, "-0123456789tfn".utf8.contains(first) else { return text }
        return (try? DataItem(parsing: bytes)) ?? text
    }

    /// Reads a value in quotes. A text that is not right as JSON, such as one with `\x`, is taken without its backslashes.
    private mutating func quoted(_ name: String) throws(LogfmtLine.Fault) -> DataItem {
        let start = index
        var text: [UInt8] = []
        index += 1
        while let byte = peek {
            index += 1
            if byte == UInt8(ascii: "\"") {
                return (try? DataItem(parsing: Array(line[start..<index])))
                    ?? .string(String(decoding: text, as: UTF8.self))
            }
            if byte == UInt8(ascii: "\\"), let next = peek {
                index += 1
                text.append(next)
            } else {
                text.append(byte)
            }
        }
        throw .openQuotes(name)
    }
}
