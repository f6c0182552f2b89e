import HeadgateData

/// An input, taken apart from the front. Where it ends too early, zeros follow.
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

    /// A number below a bound, of up to 256.
    mutating func number(below bound: Int) -> Int {
        Int(byte()) % bound
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// As many bytes as the first one says.
    mutating func piece() -> [UInt8] {
        bytes(Int(byte()))
    }

    /// All that is left.
    mutating func remainder() -> [UInt8] {
        bytes(rest.count)
    }

    /// Bytes up to a mark, which is passed.
    mutating func bytes(upTo mark: Unicode.Scalar) -> [UInt8] {
        let found = rest.prefix { $0 != UInt8(ascii: mark) }
        defer { rest = rest.dropFirst(found.count + 1) }
        return Array(found)
    }

    mutating func text(upTo mark: Unicode.Scalar) -> String {
        String(decoding: bytes(upTo: mark), as: UTF8.self)
    }

    /// A number of any size.
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
