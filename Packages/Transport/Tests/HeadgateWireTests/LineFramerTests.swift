import HeadgateSeeds
import Testing

@testable import HeadgateWire

@Suite("Cutting a stream into lines")
struct LineFramerTests {
    static let limit = 12

    /// Streams and the lines expected from them, including an unterminated rest at the end. `!` stands for a line that
    /// is too long.
    static let streams: [(stream: String, lines: [String])] = [
        ("", []), ("\n", []), ("a\n", ["a"]), ("a", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]),
        ("a\r", ["a"]),
        ("\n\n\r\n \t \na\n\n", ["a"]), ("a\rb\n", ["a\rb"]), ("a\r\r\n", ["a\r"]), ("  a \n", ["  a "]),
        ("123456789012\n", ["123456789012"]), ("123456789012\r\n", ["123456789012"]),
        ("123456789012\r", ["123456789012"]),
        ("1234567890123\n", ["!"]), ("1234567890123", ["!"]), ("1234567890123\na\n", ["!", "a"]),
        ("123456789012\r\r\nb\n", ["!", "b"]),
        ("a\n12345678901234567890123456789012345\r\nb\n", ["a", "!", "b"]),
        ("123456789012345\n12345678901234567\nc", ["!", "!", "c"]),
        ("            \na\n", ["a"]), ("é\n😀\n", ["é", "😀"]),
        ("one\ntwo\r\n\nthree\n1234567890123456\nfour", ["one", "two", "three", "!", "four"]),
    ]

    @Test("Protocol, Framing: streams as a whole, byte by byte, and split at every two positions", arguments: streams)
    func everySplit(stream: String, lines: [String]) {
        let bytes = Array(stream.utf8)
        #expect(read([bytes]) == lines)
        #expect(read(bytes.map { [$0] }) == lines)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let pieces = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
                #expect(read(pieces) == lines, "split at \(first) and \(second)")
            }
        }
    }

    @Test("Reading may stop after any line, and continues there", arguments: streams)
    func stopsAnywhere(stream: String, lines: [String]) {
        let bytes = Array(stream.utf8)
        for size in 1...max(bytes.count, 1) {
            let pieces = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            #expect(read(pieces, linesAtATime: 1) == lines, "pieces of \(size)")
        }
    }

    @Test("Pieces that arrive without reading are not joined wrongly", arguments: streams)
    func lentWithoutNext(stream: String, lines: [String]) {
        let bytes = Array(stream.utf8)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                // Part of a line is scanned and kept, twice, and the part after it is kept without a scan.
                let pieces = [
                    bytes[..<(first / 2)], bytes[(first / 2)..<first], bytes[first..<second], bytes[second...],
                ]
                let copies = pieces.map { Array($0) }
                #expect(read(copies) { [.max, .max, 0, .max][$0] } == lines, "split at \(first) and \(second)")
                #expect(read(copies) { [1, 1, 0, 1][$0] } == lines, "split at \(first) and \(second)")
            }
        }
    }

    @Test("Framing: a partial line followed by an unread piece with its end and short lines gives separate lines")
    func partThenUnseenPiece() {
        let pieces = ["abcd", "efgh", "ij\nk\nlm\nn", "o\n"].map { Array($0.utf8) }
        #expect(read(pieces) { [.max, .max, 0, .max][$0] } == ["abcdefghij", "k", "lm", "no"])
    }

    @Test(
        "Random lines in random pieces, some of them read late, are restored",
        arguments: 21...28 as ClosedRange<UInt64>)
    func randomPauses(seed: UInt64) {
        var random = SplitMix(state: seed)
        let lines = (0..<500).map { _ in String(repeating: "x", count: Int.random(in: 1...20, using: &random)) }
        var stream = Array(lines.map { $0 + "\n" }.joined().utf8)[...]
        var pieces: [[UInt8]] = []
        while !stream.isEmpty {
            let piece = stream.prefix(Int.random(in: 1...60, using: &random))
            stream = stream.dropFirst(piece.count)
            pieces.append(Array(piece))
        }
        let atATime = pieces.map { _ in [0, 0, 1, 2, .max].randomElement(using: &random) ?? 0 }
        #expect(read(pieces, limit: 300) { atATime[$0] } == lines, "seed \(seed)")
    }

    @Test("A line can be read before it is taken, however the stream is cut", arguments: streams)
    func peeked(stream: String, lines: [String]) {
        let bytes = Array(stream.utf8)
        for size in 1...max(bytes.count, 1) {
            var framer = LineFramer(maxLineBytes: Self.limit)
            var (peeked, taken): ([String], [String]) = ([], [])
            let pieces = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            for index in 0...pieces.count {
                if index == pieces.count { framer.finish() }
                (index < pieces.count ? pieces[index] : []).withUnsafeBytes { chunk in
                    framer.borrow(chunk)
                    var isOver = false
                    while !isOver {
                        let ahead = framer.peek().map { String(decoding: $0, as: UTF8.self) }
                        #expect(framer.peek().map { String(decoding: $0, as: UTF8.self) } == ahead)
                        switch framer.next() {
                        case .text(let line)?: taken.append(String(decoding: line, as: UTF8.self))
                        case .tooLong?: taken.append("!")
                        case nil: isOver = true
                        }
                        if let ahead, !isOver { peeked.append(ahead.utf8.count > Self.limit ? "!" : ahead) }
                    }
                    framer.keepRest()
                }
            }
            #expect(taken == lines, "pieces of \(size)")
            #expect(peeked == taken.filter { $0 != "!" } || taken.contains("!"), "pieces of \(size)")
        }
    }

    @Test("X2: an idle connection releases the memory of a long line")
    func longLineIsForgotten() {
        var framer = LineFramer(maxLineBytes: 1 << 20)
        let piece = [UInt8](repeating: 0x61, count: 50_000)
        for _ in 1...4 {
            piece.withUnsafeBytes { chunk in
                framer.borrow(chunk)
                #expect(length(of: framer.next()) == nil)
                framer.keepRest()
            }
        }
        #expect(framer.keptCapacity >= 200_000)
        Array("\nb".utf8).withUnsafeBytes { chunk in
            framer.borrow(chunk)
            #expect(length(of: framer.next()) == 200_000)
            framer.keepRest()
        }
        // The beginning of the next line may follow a long line. The memory is then released with that next line.
        #expect(framer.waitingBytes == 1)
        Array("\n".utf8).withUnsafeBytes { chunk in
            framer.borrow(chunk)
            #expect(length(of: framer.next()) == 1)
            framer.keepRest()
        }
        #expect(framer.keptCapacity <= 16 * 1024)
    }

    @Test("X2: a line that is too long is reported once, at once, and not kept")
    func forgetsWhatIsTooLong() {
        var framer = LineFramer(maxLineBytes: 100)
        let piece = [UInt8](repeating: 0x61, count: 64)
        var reports: [Int] = []
        for round in 0..<1_000 {
            piece.withUnsafeBytes { chunk in
                framer.borrow(chunk)
                if case .tooLong? = framer.next() { reports.append(round) }
                framer.keepRest()
            }
            #expect(framer.waitingBytes <= 101)
        }
        #expect(reports == [1])
    }

    @Test("A line within one chunk is returned without a copy")
    func doesNotCopy() {
        let stream = Array("first\nsecond\nthird".utf8)
        stream.withUnsafeBytes { chunk in
            var framer = LineFramer(maxLineBytes: 100)
            framer.borrow(chunk)
            #expect(address(framer.next()) == chunk.baseAddress)
            #expect(address(framer.next()) == chunk.baseAddress.map { $0 + 6 })
            #expect(address(framer.next()) == nil)
            #expect(framer.waitingBytes == 5)
            framer.keepRest()
            #expect(framer.waitingBytes == 5)
        }
    }

    @Test("The cost of a long line in small pieces is linear")
    func isLinear() {
        let length = 1 << 20
        var stream = [UInt8](repeating: 0x61, count: length)
        stream.append(0x0A)
        let pieces = stride(from: 0, to: stream.count, by: 16).map { Array(stream[$0..<min($0 + 16, stream.count)]) }
        let lines = read(pieces, limit: length)
        #expect(lines.map(\.utf8.count) == [length])
    }

    @Test("Random lines in random pieces are restored", arguments: Seeds.first(3))
    func randomStreams(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var lines: [String] = []
        var stream: [UInt8] = []
        for _ in 0..<2_000 {
            let line = String(repeating: "x", count: Int.random(in: 1...400, using: &random))
            lines.append(line.utf8.count > 300 ? "!" : line)
            stream += Array(line.utf8) + (Bool.random(using: &random) ? [0x0D, 0x0A] : [0x0A])
        }
        var pieces: [[UInt8]] = []
        while !stream.isEmpty {
            let size = min(stream.count, Int.random(in: 1...3_000, using: &random))
            pieces.append(Array(stream.prefix(size)))
            stream.removeFirst(size)
        }
        #expect(read(pieces, limit: 300) == lines, "\(seed)")
        #expect(read(pieces, limit: 300, linesAtATime: 3) == lines, "\(seed)")
    }

    private func address(_ line: LineFramer.Line?) -> UnsafeRawPointer? {
        guard case .text(let bytes)? = line else { return nil }
        return bytes.baseAddress
    }

    private func length(of line: LineFramer.Line?) -> Int? {
        guard case .text(let bytes)? = line else { return nil }
        return bytes.count
    }

    /// Reads all pieces to the end. Each piece is in memory that is released afterwards.
    private func read(_ pieces: [[UInt8]], limit: Int = limit, linesAtATime: Int = .max) -> [String] {
        read(pieces, limit: limit) { _ in linesAtATime }
    }

    /// - Parameter linesOf: Returns the number of lines to take after the piece with the given index.
    private func read(_ pieces: [[UInt8]], limit: Int = limit, taking linesOf: (Int) -> Int) -> [String] {
        var framer = LineFramer(maxLineBytes: limit)
        var lines: [String] = []
        for (index, piece) in pieces.enumerated() {
            GuardedText(piece).read { chunk in
                framer.borrow(chunk)
                take(linesOf(index), from: &framer, into: &lines)
                framer.keepRest()
            }
        }
        framer.finish()
        take(.max, from: &framer, into: &lines)
        return lines
    }

    private func take(_ most: Int, from framer: inout LineFramer, into lines: inout [String]) {
        var taken = 0
        while taken < most, let line = framer.next() {
            taken += 1
            switch line {
            case .text(let bytes): lines.append(String(decoding: bytes, as: UTF8.self))
            case .tooLong: lines.append("!")
            }
        }
    }
}
