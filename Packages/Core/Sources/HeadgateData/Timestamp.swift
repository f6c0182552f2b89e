/// A moment in UTC, to the millisecond. On the wire it is RFC 3339 with three digits of fraction.
public struct Timestamp: BitwiseCopyable, Sendable, Hashable, Comparable {
    /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public var milliseconds: Int64

    /// Creates the moment a number of milliseconds after 1970-01-01T00:00:00Z.
    @inlinable
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    @inlinable
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The moments that RFC 3339 can represent: the years 0000 to 9999.
    public static let expressible =
        Timestamp(milliseconds: -62_167_219_200_000)...Timestamp(milliseconds: 253_402_300_799_999)

    private static let millisecondsPerDay: Int64 = 86_400_000
}

extension Timestamp {
    /// The moment as RFC 3339 in UTC: `2026-11-20T09:41:55.123Z`.
    ///
    /// A moment outside these years becomes the first or the last moment that RFC 3339 can represent.
    public var text: String {
        String(unsafeUninitializedCapacity: Timestamp.length) { target in
            write(to: UnsafeMutableRawBufferPointer(target))
            return Timestamp.length
        }
    }

    /// Writes the moment as a JSON string, in the form of ``text``.
    public func write(into writer: inout JSONWriter) {
        withUnsafeTemporaryAllocation(byteCount: Timestamp.length + 2, alignment: 8) { buffer in
            buffer[0] = UInt8(ascii: "\"")
            write(to: UnsafeMutableRawBufferPointer(rebasing: buffer[1...]))
            buffer[Timestamp.length + 1] = UInt8(ascii: "\"")
            writer.raw(UnsafeRawBufferPointer(buffer))
        }
    }

    /// The length of a moment in RFC 3339, in characters.
    @usableFromInline static var length: Int { 24 }

    func write(to target: UnsafeMutableRawBufferPointer) {
        let shown = min(max(self, Timestamp.expressible.lowerBound), Timestamp.expressible.upperBound).milliseconds
        let remainder = shown % Timestamp.millisecondsPerDay
        let inDay = Int(remainder < 0 ? remainder + Timestamp.millisecondsPerDay : remainder)
        let date = CivilDate(daysSince1970: (Int(shown) - inDay) / Int(Timestamp.millisecondsPerDay))
        target.twoDigits(date.year / 100, at: 0)
        target.twoDigits(date.year % 100, at: 2)
        target[4] = UInt8(ascii: "-")
        target.twoDigits(date.month, at: 5)
        target[7] = UInt8(ascii: "-")
        target.twoDigits(date.day, at: 8)
        target[10] = UInt8(ascii: "T")
        target.twoDigits(inDay / 3_600_000, at: 11)
        target[13] = UInt8(ascii: ":")
        target.twoDigits(inDay / 60_000 % 60, at: 14)
        target[16] = UInt8(ascii: ":")
        target.twoDigits(inDay / 1_000 % 60, at: 17)
        target[19] = UInt8(ascii: ".")
        target.twoDigits(inDay % 1_000 / 10, at: 20)
        target[22] = 0x30 + UInt8(truncatingIfNeeded: inDay % 10)
        target[23] = UInt8(ascii: "Z")
    }
}

extension JSONWriter {
    /// Writes a moment as a string in RFC 3339.
    @inlinable
    public mutating func timestamp(_ value: Timestamp) {
        value.write(into: &self)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Writes a number below 100 in two digits.
    fileprivate func twoDigits(_ value: Int, at offset: Int) {
        self[offset] = 0x30 + UInt8(truncatingIfNeeded: value / 10)
        self[offset + 1] = 0x30 + UInt8(truncatingIfNeeded: value % 10)
    }
}

extension Timestamp {
    /// Reads a moment in RFC 3339; nil for any other text.
    ///
    /// Any offset is accepted, any number of digits of fraction, and `t` and `z` in lower case. Digits beyond the
    /// millisecond are dropped. The date must exist. A leap second, `:60`, becomes the first moment of the next second.
    public init?(rfc3339 text: String) {
        var text = text
        guard let moment = text.withUTF8({ Timestamp(rfc3339: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = moment
    }

    /// Reads a moment in RFC 3339 from UTF-8; nil for any other text.
    public init?(rfc3339 utf8: UnsafeRawBufferPointer) {
        var reader = TimestampReader(utf8)
        guard let date = reader.date(), reader.skip("T", or: "t"),
            let time = reader.timeOfDay(), let offset = reader.offset(), reader.isAtEnd
        else { return nil }
        let milliseconds = Int64(date.daysSince1970) * Timestamp.millisecondsPerDay + time - offset
        self.init(milliseconds: milliseconds)
        guard Timestamp.expressible.contains(self) else { return nil }
    }
}

/// A reader of the parts of an RFC 3339 time, in order. Each function returns nil if its part is missing or invalid.
private struct TimestampReader {
    private let source: UnsafeRawBufferPointer
    private var position = 0

    init(_ source: UnsafeRawBufferPointer) {
        self.source = source
    }

    var isAtEnd: Bool { position == source.count }

    mutating func date() -> CivilDate? {
        guard let year = digits(4), skip("-"), let month = digits(2), skip("-"), let day = digits(2) else { return nil }
        return CivilDate(year: year, month: month, day: day)
    }

    /// Reads the time of day and returns the milliseconds since midnight.
    mutating func timeOfDay() -> Int64? {
        guard let hour = digits(2), hour < 24, skip(":"), let minute = digits(2), minute < 60,
            skip(":"), let second = digits(2), second <= 60, let fraction = fraction()
        else { return nil }
        return Int64(((hour * 60 + minute) * 60 + second) * 1_000 + fraction)
    }

    /// Reads the offset from UTC and returns it in milliseconds, positive east of Greenwich.
    mutating func offset() -> Int64? {
        if skip("Z", or: "z") { return 0 }
        let isBehind = skip("-")
        guard isBehind || skip("+"), let hour = digits(2), hour < 24, skip(":"), let minute = digits(2), minute < 60
        else { return nil }
        let ahead = Int64(hour * 60 + minute) * 60_000
        return isBehind ? -ahead : ahead
    }

    /// Reads the fraction of a second and returns it in milliseconds: 0 if there is no fraction, nil if no digit
    /// follows the point.
    private mutating func fraction() -> Int? {
        guard skip(".") else { return 0 }
        var milliseconds = 0
        var scale = 100
        let start = position
        while let digit = digits(1) {
            milliseconds += digit * scale
            scale /= 10
        }
        return position > start ? milliseconds : nil
    }

    mutating func skip(_ byte: Unicode.Scalar, or other: Unicode.Scalar? = nil) -> Bool {
        guard position < source.count else { return false }
        let next = Unicode.Scalar(source[position])
        guard next == byte || next == other else { return false }
        position += 1
        return true
    }

    private mutating func digits(_ count: Int) -> Int? {
        guard position + count <= source.count else { return nil }
        var value = 0
        for byte in source[position..<position + count] {
            guard 0x30...0x39 ~= byte else { return nil }
            value = value * 10 + Int(byte - 0x30)
        }
        position += count
        return value
    }
}
