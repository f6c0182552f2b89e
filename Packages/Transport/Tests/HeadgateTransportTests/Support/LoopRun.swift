import Testing

@testable import HeadgateTransport

/// Runs a loop on the calling thread: `body` sets the scene, and something in it stops the loop. It must then have
/// closed all its handles; a watchdog ends what never stops.
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
