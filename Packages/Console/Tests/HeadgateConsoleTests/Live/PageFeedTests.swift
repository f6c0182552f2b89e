import Testing

@testable import HeadgateConsole

/// Tests the changes that readers of a page get.
@Suite("Page feeds")
struct PageFeedTests {
    private func page(_ a: HTML, _ b: HTML) -> [Region] {
        [Region(id: "a", html: a), Region(id: "b", html: b)]
    }

    private func reported(_ feed: PageFeed, since version: Int) -> [String] {
        feed.events(since: version).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("New readers get all regions, and later only the changed ones")
    func changes() {
        var feed = PageFeed()
        let isNew = feed.show(page("1", "1"))
        #expect(isNew)
        #expect(reported(feed, since: 0).count == 2)
        let known = feed.version
        let isNewAgain = feed.show(page("1", "1"))
        #expect(!isNewAgain && reported(feed, since: known) == [])
        _ = feed.show(page("1", "2"))
        #expect(reported(feed, since: known) == ["event: region\ndata: b\ndata: 2\n\n"])
    }

    @Test("Slow readers get the latest state of each region once, however often it changed")
    func noBacklog() {
        var feed = PageFeed()
        for number in 0..<1_000 { _ = feed.show(page("\(number)", "same")) }
        #expect(reported(feed, since: 2) == ["event: region\ndata: a\ndata: 999\n\n"])
    }
}
