import HeadgateData
import Testing

@testable import HeadgateCommands

/// Tests the position in a followed file, and the state of its lines.
@Suite struct FollowerPositionTests {
    private func position(_ text: String = "") -> FollowerPosition {
        var position = FollowerPosition(FollowerPosition.File(device: 1, inode: 2), prefix: "p")
        position.advance(over: Array(text.utf8))
        return position
    }

    @Test("A line's id is the offset at which it begins, however the position before it was reached")
    func ids() {
        #expect(position().id(at: 7) == "p-7")
        #expect(position("1234567").id(at: 7) == "p-7")
    }

    @Test("L4: a position whose file is shorter, or as long and written to later, belongs to a rewritten file")
    func replaced() {
        var position = position("0123456789")
        position.seen = FileMetadata(size: 12, modified: 5)
        #expect(!position.isReplaced(by: FileMetadata(size: 12, modified: 5)))
        #expect(!position.isReplaced(by: FileMetadata(size: 13, modified: 6)))
        #expect(position.isReplaced(by: FileMetadata(size: 11, modified: 5)))
        #expect(position.isReplaced(by: FileMetadata(size: 12, modified: 6)))
        #expect(!position.isReplaced(by: FileMetadata(size: 12, modified: 6), trustsTimes: false))
        position.seen = nil
        #expect(position.isReplaced(by: FileMetadata(size: 9, modified: 6)))
        #expect(!position.isReplaced(by: FileMetadata(size: 10, modified: 6)))
    }

    @Test("The state of the file does not make two positions differ in what has to be stored")
    func same() {
        var (one, other) = (position("abc"), position("abc"))
        one.seen = FileMetadata(size: 3, modified: 1)
        #expect(one.isSame(as: other) && one != other && !one.isSame(as: nil))
        other.isInLongLine = true
        #expect(!one.isSame(as: other))
    }

    @Test("Skipped NUL bytes count as the bytes before the offset")
    func skip() {
        var position = position("abc")
        position.skip(to: 1_000_000)
        #expect(position.offset == 1_000_000 && position.before == [UInt8](repeating: 0, count: 64))
        position.skip(to: 5)
        #expect(position.offset == 1_000_000)
    }

    @Test("Only the last bytes before the position are remembered")
    func before() {
        #expect(position("abc").before == Array("abc".utf8))
        var position = position(String(repeating: "x", count: 60))
        position.advance(over: Array("0123456789".utf8))
        #expect(position.before == Array((String(repeating: "x", count: 54) + "0123456789").utf8))
        #expect(position.offset == 70)
    }

    @Test("A position is read as it was written, and no position as none")
    func kept() throws {
        for text in ["", "a", String(repeating: "\u{0}é\n", count: 100)] {
            var position = position(text)
            position.note(FollowedPieceTests.piece("a\nb\nc\n", at: position, settled: [1]))
            (position.birth, position.isInLongLine, position.seen) = (7, true, FileMetadata(size: 1_000, modified: 9))
            let read = try DataItem(parsing: Array(DataItem.object(position.kept).json.utf8)).get(as: DataObject.self)
            #expect(try FollowerPosition(#require(read)) == position)
        }
        var other = position("abc").kept
        other["version"] = 2
        #expect(FollowerPosition(other) == nil)
        other = position("abc").kept
        other["offset"] = 2
        #expect(FollowerPosition(other) == nil)
        #expect(FollowerPosition([:]) == nil)
    }

    @Test("A position of an older version, without newer members, is valid")
    func older() throws {
        let text = #"{"version":1,"device":1,"inode":2,"prefix":"p","offset":1,"before":[97]}"#
        let kept = try #require(try DataItem(parsing: Array(text.utf8)).get(as: DataObject.self))
        let position = try #require(FollowerPosition(kept))
        #expect(
            position.seen == nil && position.format.linesWithoutEvent == nil && !position.isInLongLine
                && position.settled.isEmpty)
    }

    @Test("Only whole lines are taken, blank ones are passed over, and the last needs no end in a file that is over")
    func lines() {
        let bytes = Array("one\n\n \r\ntwo\r\nthr".utf8)
        let lines = FollowedLines(bytes)
        #expect(lines.lines.map(\.start) == [0, 8])
        #expect(lines.lines.map { String(decoding: $0.bytes, as: UTF8.self) } == ["one", "two\r"])
        #expect(lines.length == 13)
        let last = FollowedLines(bytes, isLast: true)
        #expect(last.lines.last == FollowedLines.Line(start: 13, end: 16, bytes: Array("thr".utf8)))
        #expect(last.length == bytes.count)
        #expect(FollowedLines(Array("a".utf8)).length == 0)
        #expect(FollowedLines([], isLast: true).lines.isEmpty)
    }

    @Test("However a file is cut into pieces, its lines have the same ids")
    func pieces() {
        let text = Array((0..<50).map { String(repeating: "x", count: $0 % 7) + "\n" }.joined().utf8)
        let whole = FollowedLines(text).lines.map { position().id(at: $0.start) }
        for length in 7...40 {
            var (position, ids) = (position(), [String]())
            while position.offset < text.count {
                let lines = FollowedLines(Array(text[position.offset...].prefix(length)))
                ids += lines.lines.map { [position] in position.id(at: position.offset + $0.start) }
                position.advance(over: text[position.offset...].prefix(lines.length))
            }
            #expect(ids == whole)
        }
    }

    private func texts(_ lines: FollowedLines) -> [String] {
        lines.lines.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test("A byte order mark at a file's beginning is passed over, and nowhere else")
    func mark() {
        let bytes = [0xEF, 0xBB, 0xBF] + Array("one\n".utf8)
        let lines = FollowedLines(bytes, isFirst: true)
        #expect(texts(lines) == ["one"] && lines.lines[0].start == 3 && lines.length == 7)
        #expect(texts(FollowedLines(bytes)) == ["\u{FEFF}one"])
    }

    @Test("NUL bytes before a line are passed over, as copytruncate leaves them, also before the line is whole")
    func holes() {
        let hole = [UInt8](repeating: 0, count: 1_000)
        let lines = FollowedLines(hole + Array("one\n".utf8) + hole + Array("two\nthr".utf8))
        #expect(texts(lines) == ["one", "two"] && lines.lines.map(\.start) == [1_000, 2_004])
        #expect(FollowedLines(hole).length == 1_000 && FollowedLines(hole).lines.isEmpty)
        #expect(FollowedLines(hole + Array("thr".utf8)).length == 1_000)
        #expect(texts(FollowedLines(hole + Array("thr".utf8), isLast: true)) == ["thr"])
        #expect(FollowedLines([0x61, 0, 0]).length == 0)
    }

    @Test("A batch has no more lines than the position can distinguish")
    func most() {
        let lines = FollowedLines(Array(String(repeating: "x\n", count: 5_000).utf8), isLast: true)
        #expect(lines.lines.count == FollowedLines.most && lines.length == 2 * FollowedLines.most)
    }
}
