import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite("Changes of outcomes between two reports")
struct OutcomeNewsTests {
    private let received: DispatcherOutcomes = {
        var counters = Counters<DispatcherCounter>()
        counters.count(.sent, 3)
        return DispatcherOutcomes(dispatcher: "collect", incarnation: 1, counters: counters, lastError: "HTTP 413")
    }()

    @Test("B10: a failed attempt with the same error is not reported, because no event has a new outcome")
    func failedOnly() {
        var present = received
        present.counters.count(.failed)
        #expect(present.news(to: received) == nil)
        present.lastError = "HTTP 503"
        #expect(present.news(to: received)?.lastError == "HTTP 503")
    }

    @Test("B10: a report counts the outcomes since the previous report")
    func counted() {
        var present = received
        present.counters.count(.retried, 2)
        let news = present.news(to: received)
        #expect(news?.counters[.retried] == 2 && news?.counters[.sent] == 0)
    }

    @Test("B10: the outcomes of a dispatcher that was removed and added again are counted from zero")
    func back() {
        var present = received
        (present.incarnation, present.counters) = (2, Counters())
        #expect(present.news(to: received) == nil)
        present.counters.count(.sent)
        #expect(present.news(to: received)?.counters[.sent] == 1)
    }

    @Test("B10: a counter that `dispatcher.list` does not show is not reported as a change of the dispatcher")
    func unlisted() {
        let bench = GateBench()
        let received = bench.summary().reported
        for counter in DispatcherCounter.allCases {
            var present = bench.summary()
            present.counters.count(counter)
            #expect((present.reported == received) == (counter.nameInList == nil), "\(counter)")
        }
    }
}
