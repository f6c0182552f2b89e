import CUV
import Testing

@testable import HeadgateTransport

/// Runs a loop on the calling thread, and checks that it closed all its handles. `body` prepares the test and must
/// arrange for the loop to be stopped. A watchdog stops the loop after 30 seconds.
func onLoop(_ body: (EventLoop) throws -> Void) throws {
    let loop = try EventLoop()
    let watchdog = LoopTimer(on: loop) {
        Issue.record("the loop was never stopped")
        loop.stop()
    }
    watchdog.arm(after: .seconds(30))
    do {
        try body(loop)
    } catch {
        loop.stop()
        loop.run()
        throw error
    }
    loop.run()
    withExtendedLifetime(watchdog) {}
    #expect(loop.isClosed)
    #expect(loop.handles.count == 0)
}

/// Counts the turns of a loop, to check that an idle loop sleeps.
final class TurnCounter {
    private(set) var turns = 0
    private let check: Handle

    init(of loop: EventLoop, onTurn: @escaping (Int) -> Void = { _ in }) throws {
        check = try Handle("uv_check_init", in: loop.handles) { uv_check_init($0, $1) }
        check.onEvent = { _, _ in
            self.turns += 1
            onTurn(self.turns)
        }
        uv_check_start(check.raw()) { Handle.of($0).onEvent?(0, 0) }
    }

    func stop() {
        check.close()
    }
}

extension EventLoop {
    /// Calls `body` after some turns. Each of those turns reads all sockets that are ready.
    func later(turns: Int = 1, _ body: @escaping () -> Void) {
        do {
            let awake = try Handle("uv_idle_init", in: handles) { uv_idle_init($0, $1) }
            uv_idle_start(awake.raw()) { _ in }
            var counter: TurnCounter?
            counter = try TurnCounter(of: self) { turn in
                guard turn > turns else { return }
                counter?.stop()
                counter = nil
                awake.close()
                body()
            }
        } catch {
            Issue.record(error)
        }
    }
}
