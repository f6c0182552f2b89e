extension JSONWriter {
    /// Writes a whole number.
    @inlinable
    public mutating func integer(_ value: some FixedWidthInteger) {
        guard let magnitude = UInt64(exactly: value.magnitude) else { return raw(verbatim: String(value)) }
        decimal(magnitude, isNegative: value < 0)
    }

    /// Writes a number as its sender wrote it.
    public mutating func number(_ value: DataNumber) {
        raw(verbatim: value.text)
    }

    /// Writes `true` or `false`.
    @inlinable
    public mutating func bool(_ value: Bool) {
        raw(value ? "true" : "false")
    }

    /// Writes `null`.
    @inlinable
    public mutating func null() {
        raw("null")
    }

    @usableFromInline
    mutating func decimal(_ magnitude: UInt64, isNegative: Bool) {
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var rest = magnitude
            var start = digits.count
            repeat {
                start -= 1
                digits[start] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if isNegative { bytes.append(UInt8(ascii: "-")) }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: digits[start...]))
        }
    }
}
