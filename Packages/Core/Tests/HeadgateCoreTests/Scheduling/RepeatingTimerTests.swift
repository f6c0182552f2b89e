import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("RepeatingTimer")
struct RepeatingTimerTests {
    let scheduler = ManualScheduler()

    @Test("It calls after each interval until it is suspended, and begins anew when resumed")
    func repeats() {
        var calls = 0
        let timer = RepeatingTimer(timeInterval: 1.5, queue: SchedulerQueue(scheduler)) { calls += 1 }
        scheduler.advance(by: .seconds(10))
        #expect(calls == 0, "it rests at first")
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

    @Test("One that never repeats calls once, and again only when it is resumed")
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

    @Test("Its handler may suspend it")
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

    @Test("It does nothing once nobody holds it")
    func released() {
        var calls = 0
        var timer: RepeatingTimer? = RepeatingTimer(timeInterval: 1, queue: SchedulerQueue(scheduler)) { calls += 1 }
        timer?.resume()
        timer = nil
        scheduler.advance(by: .seconds(10))
        #expect(calls == 0)
        #expect(scheduler.nextDeadline == nil)
    }

    @Test("Times that are none are the shortest there is", arguments: [0, -1, Double.nan, -Double.infinity])
    func shortest(seconds: Double) {
        var calls = 0
        let timer = RepeatingTimer(timeInterval: seconds, queue: SchedulerQueue(scheduler)) { calls += 1 }
        timer.resume()
        scheduler.advance(by: .milliseconds(5))
        #expect(calls == 5)
    }

    @Test("A time too long to say is only long")
    func longest() {
        let timer = RepeatingTimer(timeInterval: .infinity, queue: SchedulerQueue(scheduler)) {}
        timer.resume()
        #expect(scheduler.nextDeadline.map { $0 > scheduler.now } == true)
    }
}
