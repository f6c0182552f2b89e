import Testing

@testable import HeadgateConsole

@Suite("Sessions of browsers")
struct BrowserSessionsTests {
    private let hour = Duration.seconds(3_600)

    @Test("A session ends twelve hours after its last request")
    func idle() {
        var sessions = BrowserSessions()
        sessions.begin(at: .zero, id: "a")
        var isOpen = sessions.use(["a"], at: hour * 11)
        #expect(isOpen)
        isOpen = sessions.use(["a"], at: hour * 22)
        #expect(isOpen)
        isOpen = sessions.use(["a"], at: hour * 34)
        #expect(!isOpen && sessions.count == 0)
    }

    @Test("A browser that also sends an old cookie keeps its session; an unknown cookie has none")
    func several() {
        var sessions = BrowserSessions()
        sessions.begin(at: .zero, id: "new")
        for (ids, isExpected) in [(["old", "new"], true), (["new", "old"], true), (["old"], false), ([], false)] {
            let isOpen = sessions.use(ids, at: hour)
            #expect(isOpen == isExpected, "\(ids)")
        }
    }

    @Test("Signing out ends one session, and a changed token ends all")
    func end() {
        var sessions = BrowserSessions()
        for id in ["a", "b", "c"] { sessions.begin(at: .zero, id: id) }
        sessions.end(["a"])
        let (first, second) = (sessions.use(["a"], at: hour), sessions.use(["b"], at: hour))
        #expect(!first && second)
        sessions.endAll()
        #expect(sessions.count == 0)
    }

    @Test("There are at most 256 sessions: one more ends the least recently used session")
    func most() {
        var sessions = BrowserSessions()
        for number in 0..<300 { sessions.begin(at: .seconds(number), id: "\(number)") }
        let (oldest, newest) = (sessions.use(["43"], at: .seconds(300)), sessions.use(["44"], at: .seconds(300)))
        #expect(sessions.count == BrowserSessions.most && !oldest && newest)
    }
}
