import HeadgateTransport
import Testing

@testable import HeadgateConsole

/// Tests open pages and their readers.
@Suite("Open pages")
struct LivePagesTests {
    /// Open pages on a loop that never runs, so that only direct calls have effects.
    private final class Stage {
        var text: HTML = "first"
        var attendance: [Bool] = []
        var wakes = 0
        private(set) var pages: LivePages!

        init() throws {
            pages = LivePages(
                on: try EventLoop(), render: { [unowned self] _ in [Region(id: "a", html: text)] },
                attended: { [unowned self] in attendance.append($0) })
        }

        func reader(of page: Route.Page = .overview) throws -> PageReader {
            let reader = pages.reader(of: page, wake: { [unowned self] in wakes += 1 })
            return try #require(reader)
        }
    }

    /// Returns all data that a reader gets now.
    private func reported(_ reader: PageReader) -> String {
        var bytes: [UInt8] = []
        while let piece = reader.read(atMost: 7), !piece.isEmpty { bytes += piece }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("O3: the daemon is watched from the first reader of any page to the last, and not before or after")
    func attendance() throws {
        let stage = try Stage()
        #expect(stage.attendance == [])
        let readers = [try stage.reader(), try stage.reader(), try stage.reader(of: .barriers)]
        #expect(stage.attendance == [true])
        readers[0].readerLeft()
        readers[2].readerLeft()
        #expect(stage.attendance == [true])
        readers[1].readerLeft()
        readers[1].readerLeft()
        #expect(stage.attendance == [true, false])
        _ = try stage.reader()
        #expect(stage.attendance == [true, false, true])
    }

    @Test("New readers get the page as it is now, and open pages get its changes")
    func latecomer() throws {
        let stage = try Stage()
        let early = try stage.reader()
        #expect(reported(early).hasSuffix("data: a\ndata: first\n\n") && stage.wakes == 0)
        stage.text = "second"
        let late = try stage.reader()
        #expect(reported(late).hasSuffix("data: second\n\n") && stage.wakes == 1)
        #expect(reported(early) == "event: region\ndata: a\ndata: second\n\n" && reported(early) == "")
    }

    @Test("An ended stream sends no more data")
    func ended() throws {
        let stage = try Stage()
        let reader = try stage.reader()
        stage.pages.endAll()
        #expect(reader.read(atMost: 100) == nil && stage.wakes == 1)
    }

    @Test("There is room for 1 000 readers, and again when one leaves")
    func room() throws {
        let stage = try Stage()
        let readers = try (0..<LivePages.mostReaders).map { _ in try stage.reader() }
        #expect(readers.count == 1_000 && stage.pages.reader(of: .overview, wake: {}) == nil)
        readers[7].readerLeft()
        #expect(stage.pages.reader(of: .overview, wake: {}) != nil)
    }
}
