extension Timestamp {
    /// The moment as RFC 3339 in UTC: `2026-11-20T09:41:55.123Z`.
    ///
    /// A moment that RFC 3339 has no year for is told as the nearest one that it has.
    public var text: String {
        String(unsafeUninitializedCapacity: Timestamp.length) { target in
            write(to: UnsafeMutableRawBufferPointer(target))
            return Timestamp.length
        }
    }

    /// Writes the moment as a JSON string: quoted, as `text` has it.
    public func write(into writer: inout JSONWriter) {
        withUnsafeTemporaryAllocation(byteCount: Timestamp.length + 2, alignment: 8) { buffer in
            buffer[0] = UInt8(ascii: "\"")
            write(to: UnsafeMutableRawBufferPointer(rebasing: buffer[1...]))
            buffer[Timestamp.length + 1] = UInt8(ascii: "\"")
            writer.raw(UnsafeRawBufferPointer(buffer))
        }
    }

    private static let length = 24

    private func write(to target: UnsafeMutableRawBufferPointer) {
        let told = min(max(self, Timestamp.expressible.lowerBound), Timestamp.expressible.upperBound).milliseconds
        let remainder = told % Timestamp.millisecondsPerDay
        let inDay = Int(remainder < 0 ? remainder + Timestamp.millisecondsPerDay : remainder)
        let date = CivilDate(daysSince1970: (Int(told) - inDay) / Int(Timestamp.millisecondsPerDay))
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
    /// Writes a time as a string, in RFC 3339.
    @inlinable
    public mutating func timestamp(_ value: Timestamp) {
        value.write(into: &self)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Writes a number below 100 as two digits.
    fileprivate func twoDigits(_ value: Int, at place: Int) {
        self[place] = 0x30 + UInt8(truncatingIfNeeded: value / 10)
        self[place + 1] = 0x30 + UInt8(truncatingIfNeeded: value % 10)
    }
}
