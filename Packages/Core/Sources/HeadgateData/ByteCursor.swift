import HeadgateData

/// Lays bytes one behind the other into room that was made for all of them.
struct ByteCursor {
    private let room: UnsafeMutableRawBufferPointer
    private(set) var offset = 0

    init(_ room: UnsafeMutableRawBufferPointer) {
        self.room = room
    }

    mutating func put(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: room[offset..<offset + bytes.count]).copyMemory(from: bytes)
        offset += bytes.count
    }

    /// Text of the program.
    mutating func put(_ text: StaticString) {
        put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// A number that is not negative, of so many decimal digits.
    mutating func put(_ number: Int64, digits: Int) {
        var rest = number
        for place in stride(from: offset + digits - 1, through: offset, by: -1) {
            room[place] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        offset += digits
    }
}

extension [UInt8] {
    /// Appends so many bytes, which `body` writes: they are zeros before.
    mutating func append(_ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        let start = self.count
        let zeros = ZeroBytes.some
        while self.count < start + count {
            append(contentsOf: zeros.prefix(start + count - self.count))
        }
        withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
    }
}

/// Zeros to copy from: quicker than laying them one by one.
private enum ZeroBytes {
    /// They live as long as the program and nobody changes them.
    nonisolated(unsafe) static let some: UnsafeBufferPointer<UInt8> = {
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 4096)
        bytes.initialize(repeating: 0)
        return UnsafeBufferPointer(bytes)
    }()
}
