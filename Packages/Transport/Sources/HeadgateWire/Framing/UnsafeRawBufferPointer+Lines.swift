internal import Glibc

extension UnsafeRawBufferPointer {
    /// The place of the first LF from `start` on.
    func lineFeed(from start: Int) -> Int? {
        guard let baseAddress, start < count else { return nil }
        guard let found = memchr(baseAddress + start, 0x0A, count - start) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }

    /// The line without the CR that an end of CR LF leaves behind.
    var withoutCarriageReturn: UnsafeRawBufferPointer {
        last == UInt8(ascii: "\r") ? UnsafeRawBufferPointer(rebasing: dropLast()) : self
    }

    /// Whether there is nothing but spaces and tabs.
    var isBlank: Bool {
        allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
