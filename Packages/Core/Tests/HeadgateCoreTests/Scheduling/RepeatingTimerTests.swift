import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("RepeatingTimer")
struct RepeatingTimerTests {
    let scheduler = ManualScheduler()

    @Test("The timer fires after each interval until it is suspended, and restarts when resumed")
    func repeats() {
        var calls = 0
        let timer = RepeatingTimer(timeInterval: 1.5, queue: SchedulerQueue(scheduler)) { calls += 1 }
        scheduler.advance(by: .seconds(10))
        #expect(calls == 0, "a new timer is suspended")
        timer.resume()
        timer.resume()
        scheduler.advance(by: .milliseconds(4500))
        #expect(calls == 3)
        timer.suspend()
        scheduler.advance(by: .seconds(10))
        #expect(calls == 3)
        timer.resume()
        scheduler.advance(by: .milliseconds(1499))
        #expect(calls == 3)
        scheduler.advance(by: .milliseconds(1))
        #expect(calls == 4)
    }

    @Test("A timer that does not repeat fires once, and again only when resumed")
    func once() {
        var calls = 0
        let timer = RepeatingTimer(timeInterval: 1, repeating: .never, queue: SchedulerQueue(scheduler)) { calls += 1 }
        timer.resume()
        scheduler.advance(by: .seconds(10))
        #expect(calls == 1)
        timer.resume()
        scheduler.advance(by: .seconds(1))
        #expect(calls == 2)
    }

    @Test("The handler may suspend the timer")
    func suspendsItself() {
        var calls = 0
        var timer: RepeatingTimer?
        timer = RepeatingTimer(timeInterval: 1, queue: SchedulerQueue(scheduler)) {
            calls += 1
            timer?.suspend()
        }
        timer?.resume()
        scheduler.advance(by: .seconds(10))
        #expect(calls == 1)
    }

    @Test("A released timer does not fire")
    func released() {
        var calls = 0
        var timer: RepeatingTimer? = RepeatingTimer(timeInterval: 1, queue: SchedulerQueue(scheduler)) { calls += 1 }
        timer?.resume()
        timer = nil
        scheduler.advance(by: .seconds(10))
        #expect(calls == 0)
        #expect(scheduler.nextDeadline == nil)
    }

    @Test("Zero and negative intervals count as the shortest one", arguments: [0, -1, Double.nan, -Double.infinity])
    func shortest(seconds: Double) {
        var calls = 0
        let timer = RepeatingTimer(timeInterval: seconds, queue: SchedulerQueue(scheduler)) { calls += 1 }
        timer.resume()
        scheduler.advance(by: .milliseconds(5))
        #expect(calls == 5)
    }

    @Test("An interval that is too long to represent counts as a long one")
    func longest() {
        let timer = RepeatingTimer(timeInterval: .infinity, queue: SchedulerQueue(scheduler)) {}
        timer.resume()
        #expect(scheduler.nextDeadline.map { $0 > scheduler.now } == true)
    }
}
