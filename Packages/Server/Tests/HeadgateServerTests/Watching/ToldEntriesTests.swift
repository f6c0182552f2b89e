import Testing

@testable import HeadgateServer

@Suite("What a watch was told last")
struct ToldEntriesTests {
    private struct Entry: Equatable {
        var id: String
        var value: Int
    }

    @Test("B10: the first time all is news, even nothing")
    func first() {
        var told = ToldEntries<Entry>(by: \.id)
        #expect(told.tell([])?.changed == [])
        #expect(told.tell([]) == nil)
        #expect(told.tell([Entry(id: "a", value: 1)])?.changed == [0])
    }

    @Test("B10: then what is new, changed or gone")
    func changes() throws {
        var told = ToldEntries<Entry>(by: \.id)
        _ = told.tell([Entry(id: "a", value: 1), Entry(id: "b", value: 1), Entry(id: "c", value: 1)])
        let news = try #require(told.tell([Entry(id: "b", value: 2), Entry(id: "c", value: 1), Entry(id: "d", value: 1)]))
        #expect(news.changed == [0, 2])
        #expect(news.removed == ["a"])
        #expect(told.tell([Entry(id: "d", value: 1), Entry(id: "c", value: 1), Entry(id: "b", value: 2)]) == nil)
    }
}
