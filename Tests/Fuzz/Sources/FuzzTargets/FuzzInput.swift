import HeadgateData

/// An input that is consumed from the front. If it ends too early, zeros follow.
struct FuzzInput {
    private(set) var rest: UnsafeRawBufferPointer.SubSequence

    init(_ input: UnsafeRawBufferPointer) {
        rest = input[...]
    }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 {
        rest.popFirst() ?? 0
    }

    mutating func bool() -> Bool {
        byte() & 1 == 1
    }

    /// Returns a number below `bound`, which is at most 256.
    mutating func number(below bound: Int) -> Int {
        Int(byte()) % bound
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Returns as many bytes as the first byte says.
    mutating func piece() -> [UInt8] {
        bytes(Int(byte()))
    }

    /// Returns all remaining bytes.
    mutating func remainder() -> [UInt8] {
        bytes(rest.count)
    }

    /// Returns the bytes before a mark, and skips the mark.
    mutating func bytes(upTo mark: Unicode.Scalar) -> [UInt8] {
        let found = rest.prefix { $0 != UInt8(ascii: mark) }
        defer { rest = rest.dropFirst(found.count + 1) }
        return Array(found)
    }

    mutating func text(upTo mark: Unicode.Scalar) -> String {
        String(decoding: bytes(upTo: mark), as: UTF8.self)
    }

    /// Returns an integer of any size.
    mutating func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ type: Integer.Type = Integer.self
    ) -> Integer {
        let size = Integer.bitWidth / 8
        let taken = bytes(size)
        return (taken + Array(repeating: 0, count: size - taken.count)).withUnsafeBytes {
            LittleEndian.load($0, at: 0, as: Integer.self)
        }
    }
}
