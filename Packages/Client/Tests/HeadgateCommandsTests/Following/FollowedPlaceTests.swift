import HeadgateData
import Testing

@testable import HeadgateCommands

/// How far a file was followed, and what its lines are.
@Suite struct FollowedPlaceTests {
    private func place(_ text: String = "") -> FollowedPlace {
        var place = FollowedPlace(FollowedPlace.File(device: 1, inode: 2), prefix: "p")
        place.advance(over: Array(text.utf8))
        return place
    }

    @Test("A line's id is where it begins, whichever way the place came to be before it")
    func ids() {
        #expect(place().id(at: 7) == "p-7")
        #expect(place("123").id(at: 4) == "p-7")
        #expect(place("1234567").id(at: 0) == "p-7")
    }

    @Test("The last bytes before the place are remembered, and no more of them")
    func before() {
        #expect(place("abc").before == Array("abc".utf8))
        var place = place(String(repeating: "x", count: 60))
        place.advance(over: Array("0123456789".utf8))
        #expect(place.before == Array((String(repeating: "x", count: 54) + "0123456789").utf8))
        #expect(place.offset == 70)
    }

    @Test("A place comes back as it was kept; what is none is none")
    func kept() throws {
        for text in ["", "a", String(repeating: "\u{0}é\n", count: 100)] {
            let place = place(text)
            let read = try DataItem(parsing: Array(DataItem.object(place.kept).json.utf8)).get(as: DataObject.self)
            #expect(try FollowedPlace(#require(read)) == place)
        }
        var other = place("abc").kept
        other["version"] = 2
        #expect(FollowedPlace(other) == nil)
        other = place("abc").kept
        other["offset"] = 2
        #expect(FollowedPlace(other) == nil)
        #expect(FollowedPlace([:]) == nil)
    }

    @Test("Only whole lines are taken, blank ones are passed over, and the last needs no end in a file that is over")
    func lines() {
        let bytes = Array("one\n\n \r\ntwo\r\nthr".utf8)
        let lines = FollowedLines(bytes)
        #expect(lines.lines.map(\.start) == [0, 8])
        #expect(lines.lines.map { String(decoding: $0.bytes, as: UTF8.self) } == ["one", "two\r"])
        #expect(lines.length == 13)
        let last = FollowedLines(bytes, isLast: true)
        #expect(last.lines.last == FollowedLines.Line(start: 13, bytes: Array("thr".utf8)))
        #expect(last.length == bytes.count)
        #expect(FollowedLines(Array("a".utf8)).length == 0)
        #expect(FollowedLines([], isLast: true).lines.isEmpty)
    }

    @Test("However a file is cut into pieces, its lines have the same ids")
    func pieces() {
        let text = Array((0..<50).map { String(repeating: "x", count: $0 % 7) + "\n" }.joined().utf8)
        let whole = FollowedLines(text).lines.map { place().id(at: $0.start) }
        for length in 7...40 {
            var (place, ids) = (place(), [String]())
            while place.offset < text.count {
                let lines = FollowedLines(Array(text[place.offset...].prefix(length)))
                ids += lines.lines.map { place.id(at: $0.start) }
                place.advance(over: text[place.offset...].prefix(lines.length))
            }
            #expect(ids == whole)
        }
    }
}
