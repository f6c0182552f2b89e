import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import HeadgateTransport

@testable import HeadgateServer

/// A worker on a real loop whose time stands still until a test moves it: messages come and go, and nothing is over
/// before the test says so, however slow the machine.
final class StillWorker: LoopWorker {
    private let clock: ManualWorker

    override init(loop: EventLoop) {
        clock = ManualWorker(now: Instant(nanoseconds: loop.monotonicNow), wall: loop.wallNow)
        super.init(loop: loop)
    }

    override var now: Instant { clock.now }
    override var wall: Timestamp { clock.wall }

    /// What is due already is done by the loop, in a turn of its own.
    override func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable {
        deadline <= now ? super.schedule(at: super.now, work) : clock.schedule(at: deadline, work)
    }

    /// Moves the clocks on, and does all that is due by then.
    func advance(by duration: Duration) {
        clock.advance(by: duration)
    }
}
