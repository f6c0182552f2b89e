import HeadgateWire

/// The line framer: however a stream is cut into pieces, and wherever the reader stops, the same lines come out as a
/// plain reading of the whole stream gives.
enum FramerTarget {
    /// The first byte says how long a line may be, the second how the rest is cut.
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

    private static func read(_ stream: [UInt8], limit: Int, pace: Int) -> [[UInt8]] {
        var framer = LineFramer(maxLineBytes: limit)
        var lines: [[UInt8]] = []
        var rest = stream[...]
        var step = pace
        while !rest.isEmpty {
            let piece = Array(rest.prefix(1 + step % 7))
            rest = rest.dropFirst(piece.count)
            piece.withUnsafeBytes { bytes in
                framer.lend(bytes)
                take(step % 3, from: &framer, into: &lines)
                framer.keepRest()
            }
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

    /// The same, read slowly and obviously.
    private static func plainLines(of stream: [UInt8], limit: Int) -> [[UInt8]] {
        stream.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).compactMap { raw in
            let line = raw.last == UInt8(ascii: "\r") ? raw.dropLast() : raw
            if line.count > limit { return tooLong }
            return line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } ? nil : Array(line)
        }
    }
}
