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
        let nothing = told.tell([])
        #expect(nothing?.changed == [])
        let again = told.tell([])
        #expect(again == nil)
        let one = told.tell([Entry(id: "a", value: 1)])
        #expect(one?.changed == [0])
    }

    @Test("B10: then what is new, changed or gone")
    func changes() {
        var told = ToldEntries<Entry>(by: \.id)
        _ = told.tell([Entry(id: "a", value: 1), Entry(id: "b", value: 1), Entry(id: "c", value: 1)])
        let news = told.tell([Entry(id: "b", value: 2), Entry(id: "c", value: 1), Entry(id: "d", value: 1)])
        #expect(news?.changed == [0, 2])
        #expect(news?.removed == ["a"])
        let same = told.tell([Entry(id: "d", value: 1), Entry(id: "c", value: 1), Entry(id: "b", value: 2)])
        #expect(same == nil)
    }
}
