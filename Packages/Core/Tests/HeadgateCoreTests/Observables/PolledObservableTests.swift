import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("A polled state") struct PolledObservableTests {
    @Test(
        "B3: a polled state is read at once and at each interval, published on change, and not read without observers")
    func polled() {
        let scheduler = ManualScheduler()
        var (value, readings) = (1, 0)
        var reported: [Int] = []
        let state = Observables.every(.seconds(2), on: scheduler) {
            readings += 1
            return value
        }
        #expect(readings == 0)
        let observer = state.subscribe { reported.append($0) }
        scheduler.advance(by: .seconds(5))
        #expect(reported == [1])
        #expect(readings == 3)
        value = 2
        scheduler.advance(by: .seconds(2))
        #expect(reported == [1, 2])
        observer.dispose()
        value = 3
        scheduler.advance(by: .seconds(20))
        #expect(reported == [1, 2])
        #expect(readings == 4)
    }

    @Test("B4: a scope is a string in settings, and the default dispatcher has a name")
    func words() {
        let settings: DataObject = ["scopes": ["all", "archive"], "wrong": [1]]
        #expect(settings.get(key: "scopes", as: [BarrierScope].self) == [.all, .dispatcher(id: "archive")])
        #expect(settings.get(key: "wrong", as: [BarrierScope].self) == nil)
        #expect(BarrierScope.dispatcher(id: Modules.Types.collect).dataItem == "collect")
    }
}
