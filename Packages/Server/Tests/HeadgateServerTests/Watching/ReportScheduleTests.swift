import HeadgateCore
import Testing

@testable import HeadgateServer

@Suite("The schedule of notifications")
struct ReportScheduleTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("B10: the first change is reported at once")
    func first() {
        var schedule = ReportSchedule()
        let unmarked = schedule.takeDue(at: at(0))
        #expect(!unmarked)
        schedule.mark(.counters, at: at(0))
        #expect(schedule.due == at(0))
        let due = [0, 0].map { schedule.takeDue(at: at($0)) }
        #expect(due == [true, false])
    }

    @Test(
        "B10: a change of counters is reported 50 ms after the previous report, a change of states 5 ms after it",
        arguments: [
            (ReportSchedule.Urgency.counters, Int64(50)), (.states, 5),
        ])
    func spacing(_ urgency: ReportSchedule.Urgency, _ milliseconds: Int64) {
        var schedule = ReportSchedule()
        schedule.mark(.states, at: at(0))
        _ = schedule.takeDue(at: at(0))
        schedule.mark(urgency, at: at(1))
        #expect(schedule.due == at(milliseconds))
        let due = [milliseconds - 1, milliseconds].map { schedule.takeDue(at: at($0)) }
        #expect(due == [false, true])
    }

    @Test("B10: a changed state makes the report due earlier; later changes do not delay a report")
    func sooner() {
        var schedule = ReportSchedule()
        schedule.mark(.states, at: at(0))
        _ = schedule.takeDue(at: at(0))
        schedule.mark(.counters, at: at(1))
        schedule.mark(.states, at: at(2))
        #expect(schedule.due == at(5))
        schedule.mark(.counters, at: at(3))
        #expect(schedule.due == at(5))
    }

    @Test("B10: after an idle interval a change is reported at once")
    func rested() {
        var schedule = ReportSchedule()
        schedule.mark(.states, at: at(0))
        _ = schedule.takeDue(at: at(0))
        schedule.mark(.counters, at: at(90))
        let isReported = schedule.takeDue(at: at(90))
        #expect(isReported)
    }
}

@Suite("Entries that were reported last")
struct ReportedEntriesTests {
    private struct Entry: Equatable {
        var id: String
        var value: Int
    }

    @Test("B10: the first report has all entries, and is sent even if there are none")
    func first() {
        var received = ReportedEntries<Entry>(by: \.id)
        let nothing = received.news([])
        #expect(nothing?.changed == [])
        let again = received.news([])
        #expect(again == nil)
        let one = received.news([Entry(id: "a", value: 1)])
        #expect(one?.changed == [0])
    }

    @Test("B10: later reports have the new, changed and removed entries only")
    func changes() {
        var received = ReportedEntries<Entry>(by: \.id)
        _ = received.news([Entry(id: "a", value: 1), Entry(id: "b", value: 1), Entry(id: "c", value: 1)])
        let news = received.news([Entry(id: "b", value: 2), Entry(id: "c", value: 1), Entry(id: "d", value: 1)])
        #expect(news?.changed == [0, 2])
        #expect(news?.removed == ["a"])
        let same = received.news([Entry(id: "d", value: 1), Entry(id: "c", value: 1), Entry(id: "b", value: 2)])
        #expect(same == nil)
    }
}
