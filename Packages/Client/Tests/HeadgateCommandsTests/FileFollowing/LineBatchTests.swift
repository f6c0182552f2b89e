import Testing

@testable import HeadgateCommands

/// Tests lines that are sent together, and their effect on the position.
@Suite struct FollowedPieceTests {
    /// Returns a piece of this text whose lines were all sent. Lines at some indices are settled, and the others must
    /// be sent again.
    static func piece(_ text: String, at position: FollowerPosition, settled: Set<Int> = []) -> LineBatch {
        let lines = FollowedLines(Array(text.utf8))
        var piece = LineBatch(
            lines.lines, of: Array(text.utf8), at: position, format: FileFormat(linesWithoutEvent: nil))
        for index in piece.takeOpen() { settled.contains(index) ? piece.settle(index) : piece.reopen(index) }
        return piece
    }

    private func position(_ text: String = "") -> FollowerPosition {
        var position = FollowerPosition(FollowerPosition.File(device: 1, inode: 2), prefix: "p")
        position.advance(over: Array(text.utf8))
        return position
    }

    @Test("L1: the position moves past a line once that line and all before it are settled; the others are remembered")
    func moves() {
        var position = position("0\n")
        position.note(Self.piece("a\nb\nc\nd\n", at: position, settled: [0, 2, 3]))
        #expect(position.offset == 4 && position.settled == [6..<10])
        #expect(
            position.isSettled(at: 6) && position.isSettled(at: 8) && !position.isSettled(at: 4)
                && !position.isSettled(at: 10))
        #expect(position.before == Array("0\na\n".utf8))
    }

    @Test("L1: of a batch only the lines that were refused temporarily are sent again")
    func again() {
        var piece = Self.piece("a\nb\nc\n", at: position(), settled: [0, 2])
        #expect(!piece.isAllSettled && piece.isAnswered)
        #expect(piece.takeOpen() == [1] && !piece.isAnswered)
        piece.settle(1)
        #expect(piece.isAllSettled && piece.isAnswered)
        #expect(piece.takeOpen().isEmpty)
    }

    @Test("L1: lines before the position are not sent again after a stop")
    func resumed() {
        var position = position()
        position.note(Self.piece("a\nb\nc\nd\n", at: position, settled: [1, 3]))
        #expect(position.offset == 0 && position.settled == [2..<4, 6..<8])
        var piece = LineBatch(
            FollowedLines(Array("a\nb\nc\nd\ne\n".utf8)).lines, of: Array("a\nb\nc\nd\ne\n".utf8), at: position,
            format: FileFormat())
        #expect(piece.takeOpen() == [0, 2, 4])
        for index in [0, 2, 4] { piece.settle(index) }
        position.note(piece)
        #expect(position.offset == 10 && position.settled.isEmpty)
    }

    @Test("An answer that comes twice, or to a line that was not sent, counts once")
    func answers() {
        var piece = Self.piece("a\nb\n", at: position())
        piece.settle(0)
        #expect(piece.isAnswered && !piece.isAllSettled)
        #expect(piece.takeOpen() == [0, 1])
        piece.settle(0)
        piece.reopen(0)
        #expect(!piece.isAnswered)
        piece.settle(1)
        #expect(piece.isAllSettled && piece.isAnswered)
    }

    @Test("L4: lines of a file that was emptied meanwhile do not move its new position")
    func otherFile() {
        let piece = Self.piece("a\nb\n", at: position(), settled: [0, 1])
        var other = FollowerPosition(FollowerPosition.File(device: 1, inode: 2), prefix: "q")
        other.note(piece)
        #expect(other.offset == 0 && other.format == FileFormat())
    }
}

/// Tests how bytes are cut into lines.
@Suite struct FollowedReadTests {
    private func read(
        _ text: String, at position: FollowerPosition = FollowerPosition(.init(device: 1, inode: 2), prefix: "p"),
        isLast: Bool = false
    ) -> FollowedRead.Next? {
        FollowedRead(Array(text.utf8), at: position, isLast: isLast, longest: 8) { $0.first == UInt8(ascii: "e") }.next
    }

    @Test("L3: a line that is too long is skipped up to its end, also when the rest of it looks like a line")
    func longLine() throws {
        var position = FollowerPosition(.init(device: 1, inode: 2), prefix: "p")
        func take(_ next: FollowedRead.Next?) throws -> FollowedRead.Next {
            let next = try #require(next)
            var piece = LineBatch(
                next.lines, of: next.bytes, at: position, format: next.format, endsInLongLine: next.endsInLongLine)
            for index in piece.takeOpen() { piece.settle(index) }
            position.note(piece)
            return next
        }
        #expect(read("xxxxxxxx", at: position) == nil)
        #expect(try take(read("xxxxxxxxx", at: position)).hasLongLine)
        #expect(position.offset == 9 && position.isInLongLine)
        #expect(try !take(read("yyyy", at: position)).hasLongLine)
        #expect(position.offset == 13 && position.isInLongLine)
        // This also holds for a process that starts in the middle of the line.
        position = try #require(FollowerPosition(position.kept))
        #expect(read("", at: position) == nil)
        #expect(try take(read("e\nevent\n", at: position)).lines.isEmpty)
        #expect(position.offset == 15 && !position.isInLongLine)
        #expect(try take(read("event\n", at: position)).lines.count == 1)
    }

    @Test("L5: a file is foreign if none of its first 100 lines is an event, however many are read at once")
    func foreign() {
        let linesWithoutEvent = String(repeating: "x\n", count: 99)
        #expect(read(linesWithoutEvent)?.format.isForeign == false)
        #expect(read(linesWithoutEvent + "x\n")?.format.isForeign == true)
        #expect(read(linesWithoutEvent + "e\n" + linesWithoutEvent + linesWithoutEvent)?.format.isForeign == false)
        var position = FollowerPosition(.init(device: 1, inode: 2), prefix: "p")
        position.note(LineBatch([], of: Array("x\n".utf8), at: position, format: FileFormat(linesWithoutEvent: 99)))
        #expect(read("x\n", at: position)?.format.isForeign == true)
        #expect(read("\n \n", at: position)?.format.isForeign == false)
        #expect(read("e\n", at: position)?.format == FileFormat(linesWithoutEvent: nil))
    }
}

/// Tests the conclusions from a file's size and time.
@Suite struct FileShapeTests {
    @Test("L4: a file that shrinks, or is written to without growing, was rewritten; one that grows was not")
    func rewritten() {
        let shape = FileMetadata(size: 5, modified: 5)
        let cases = [
            (4, 5, true), (4, 6, true), (5, 5, false), (5, 6, true), (5, 4, false), (6, 6, false), (6, 5, false),
        ]
        for (size, modified, isRewritten) in cases {
            #expect(FileMetadata(size: size, modified: modified).isRewritten(since: shape) == isRewritten)
        }
        #expect(!FileMetadata(size: 0, modified: 6).isRewritten(since: FileMetadata(size: 0, modified: 5)))
    }

    @Test("A renamed file is over once it has not grown for two seconds; a line that takes longer is waited for")
    func renamed() {
        var file = RenamedFile()
        let second: Int64 = 1_000_000_000
        func isOver(size: Int, at now: Int64) -> Bool { file.isOver(FileMetadata(size: size, modified: 7), at: now) }
        #expect(!isOver(size: 10, at: 0))
        #expect(!isOver(size: 10, at: 2 * second - 1))
        // Half a line came, and later its other half.
        #expect(!isOver(size: 14, at: 2 * second - 1))
        #expect(!isOver(size: 14, at: 3 * second))
        #expect(!isOver(size: 18, at: 4 * second - 2))
        #expect(!isOver(size: 18, at: 5 * second))
        #expect(isOver(size: 18, at: 6 * second))
    }

    @Test("A renamed file is over at once if the file of its name was written to two seconds later")
    func renamedLongAgo() {
        var file = RenamedFile()
        let shape = FileMetadata(size: 10, modified: 1_000_000_000)
        func isOver(_ successor: Int?) -> Bool { file.isOver(shape, successor: successor, at: 0) }
        #expect(!isOver(2_999_999_999) && !isOver(nil))
        #expect(isOver(3_000_000_000))
    }
}
