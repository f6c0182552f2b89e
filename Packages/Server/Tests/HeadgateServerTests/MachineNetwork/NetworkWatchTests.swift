import HeadgateCore
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// The watch on this machine's own network, whatever that is.
@Suite(.enabled(if: NetlinkSocket() != nil, "the kernel does not tell of the network here"), .timeLimit(.minutes(5)))
struct NetworkWatchTests {
    @Test("B21: the state is known as soon as it is watched, so that nothing is held for it at a start")
    func knownAtOnce() async throws {
        let stage = try WatchStage()
        let states = await stage.watch(requiresDefaultRoute: false, kinds: InterfaceKinds())
        #expect(states.count == 1)
        #expect(states.first != .unknown)
        await stage.end()
    }

    @Test("B20: what has a default route is connected without asking for one, too")
    func routedIsConnected() async throws {
        let stage = try WatchStage()
        let routed = await stage.watch(requiresDefaultRoute: true, kinds: InterfaceKinds(overrides: ["*": .wifi]))
        let plain = await stage.watch(requiresDefaultRoute: false, kinds: InterfaceKinds(overrides: ["*": .wifi]))
        #expect(routed == plain || (routed == [.disconnected] && plain == [.connected(.wifi)]))
        await stage.end()
    }

    @Test("B21: a watch that goes leaves nothing open on the loop")
    func gone() async throws {
        let stage = try WatchStage()
        for _ in 0..<100 { _ = await stage.watch(requiresDefaultRoute: false, kinds: InterfaceKinds()) }
        // The loop stops the program when a handle is left.
        await stage.end()
    }
}

/// A loop to watch on.
private actor WatchStage {
    private nonisolated let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    init() throws {
        loop = try EventLoop.onNewThread(named: "test-watch")
    }

    /// The states that a new watch tells before its making returns.
    func watch(requiresDefaultRoute: Bool, kinds: InterfaceKinds) -> [NetworkState] {
        var states: [NetworkState] = []
        let watch = NetworkWatch(on: loop, requiresDefaultRoute: requiresDefaultRoute, kinds: kinds) {
            states.append($0)
        }
        return withExtendedLifetime(watch) { states }
    }

    func end() async {
        loop.stop()
        await loop.waitUntilClosed()
    }
}
