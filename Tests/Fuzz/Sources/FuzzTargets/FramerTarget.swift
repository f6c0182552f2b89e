import HeadgateWire

/// The line framer. However a stream is cut into pieces, and wherever the reader stops, it must return the same lines
/// as a simple split of the whole stream.
enum FramerTarget {
    /// The first byte is the maximum length of a line, the second determines how the rest is cut.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard input.count >= 2 else { return -1 }
        let limit = Int(input[0])
        let stream = Array(input.dropFirst(2))
        let found = read(stream, limit: limit, pace: Int(input[1]))
        let expected = plainLines(of: stream, limit: limit)
        precondition(found == expected, "limit \(limit): \(found) instead of \(expected)")
        return 0
    }

    private static let tooLong: [UInt8] = Array("\n".utf8)

    private static nonisolated(unsafe) let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 1)

    private static func read(_ stream: [UInt8], limit: Int, pace: Int) -> [[UInt8]] {
        var framer = LineFramer(maxLineBytes: limit)
        var lines: [[UInt8]] = []
        var rest = stream[...]
        var step = pace
        while !rest.isEmpty {
            let piece = rest.prefix(1 + step % 15)
            rest = rest.dropFirst(piece.count)
            // The memory is overwritten afterwards, as a connection's buffer is.
            let lent = UnsafeMutableRawBufferPointer(rebasing: buffer[..<piece.count])
            lent.copyBytes(from: piece)
            framer.borrow(UnsafeRawBufferPointer(lent))
            take(step % 3, from: &framer, into: &lines)
            framer.keepRest()
            lent.initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "!"))
            step = (step &* 5 &+ 3) % 251
        }
        framer.finish()
        take(.max, from: &framer, into: &lines)
        return lines
    }

    private static func take(_ most: Int, from framer: inout LineFramer, into lines: inout [[UInt8]]) {
        var taken = 0
        while taken < most, let line = framer.next() {
            taken += 1
            switch line {
            case .text(let bytes): lines.append(Array(bytes))
            case .tooLong: lines.append(tooLong)
            }
        }
    }

    /// A simple implementation to compare with.
    private static func plainLines(of stream: [UInt8], limit: Int) -> [[UInt8]] {
        stream.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).compactMap { raw in
            let line = raw.last == UInt8(ascii: "\r") ? raw.dropLast() : raw
            if line.count > limit { return tooLong }
            return line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } ? nil : Array(line)
        }
    }
}
