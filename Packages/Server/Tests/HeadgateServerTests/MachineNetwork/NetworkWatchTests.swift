import CNetlink
import Glibc
import HeadgateCore
import HeadgateCoreTesting
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests ``NetworkWatch`` on this machine's own network.
@Suite(.enabled(if: NetlinkSocket() != nil, "the kernel does not report the network here"), .timeLimit(.minutes(5)))
struct NetworkWatchTests {
    @Test("B21: a new watch knows the state at once, so that a start blocks no event")
    func knownAtOnce() async throws {
        let stage = try WatchStage()
        let states = await stage.watch(requiresDefaultRoute: false, kinds: InterfaceKinds())
        #expect(states.count == 1)
        #expect(states.first != .unknown)
        await stage.end()
    }

    @Test("B20: with require_default_route, the state is the same as without or disconnected")
    func routedIsConnected() async throws {
        let stage = try WatchStage()
        let routed = await stage.watch(requiresDefaultRoute: true, kinds: InterfaceKinds(overrides: ["*": .wifi]))
        let plain = await stage.watch(requiresDefaultRoute: false, kinds: InterfaceKinds(overrides: ["*": .wifi]))
        #expect(routed == plain || (routed == [.disconnected] && plain == [.connected(.wifi)]))
        await stage.end()
    }

    @Test("B21: a watch that ends leaves nothing open on the loop")
    func gone() async throws {
        let stage = try WatchStage()
        for _ in 0..<100 { _ = await stage.watch(requiresDefaultRoute: false, kinds: InterfaceKinds()) }
        // The loop stops the program if a handle is left.
        await stage.end()
    }

    @Test("B21: while the kernel does not report, a warning says so and the network counts as connected")
    func cannotBeWatched() async throws {
        let stage = try WatchStage()
        let socket = try ScriptedNetlink()
        let reported = await stage.follow([nil, socket])
        #expect(reported.warnings.map(\.count) == [1, 0])
        #expect(reported.states == [.connected(.other), .disconnected])
        await stage.end()
    }

    @Test(
        "B21: after an overrun all lists are requested again, however many datagrams are left to read",
        arguments: (-3...3).map { NetworkWatch.mostReads + $0 } + [0, 1, 3 * NetworkWatch.mostReads - 1])
    func overrun(datagrams: Int) async throws {
        let stage = try WatchStage()
        let socket = try ScriptedNetlink()
        #expect(await stage.follow(socket) == 3)
        await stage.send(socket, datagrams: datagrams)
        for _ in 0..<5_000 where await stage.questions(socket) < 6 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(await stage.questions(socket) == 6)
        await stage.end()
    }
}

/// The socket of a kernel without interfaces. The kernel answers each request at once.
// Unchecked: it is used on its stage's loop only.
private final class ScriptedNetlink: NetlinkReading, @unchecked Sendable {
    let descriptor: Int32
    private let bell: Int32
    private var waiting: [[UInt8]?] = []
    private var datagram = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_024, alignment: 8)
    /// The number of lists that were requested.
    private(set) var questions = 0

    init() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0, fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 else { throw Missing(what: "a pipe") }
        (descriptor, bell) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(bell)
        datagram.deallocate()
    }

    /// Reports an overrun, and then this many messages that change nothing.
    func overrun(then datagrams: Int) {
        waiting = [nil] + Array(repeating: NetlinkBytes.message(Int(NLMSG_NOOP)), count: datagrams)
        write(bell, "x", 1)
    }

    func request(_ list: NetworkList, number: UInt32) -> Bool {
        questions += 1
        waiting.append(NetlinkBytes.message(Int(NLMSG_DONE), number: number, [0, 0, 0, 0]))
        return true
    }

    /// Reads a datagram. The first read makes the descriptor unreadable, as if the socket were empty.
    func read() -> NetlinkRead {
        var byte: UInt8 = 0
        Glibc.read(descriptor, &byte, 1)
        guard !waiting.isEmpty else { return .nothing }
        guard let next = waiting.removeFirst() else { return .overrun }
        datagram.copyBytes(from: next)
        return .datagram(UnsafeRawBufferPointer(rebasing: datagram[..<next.count]))
    }
}

/// An event loop, and the watch on it.
private actor WatchStage {
    private nonisolated let loop: EventLoop
    private var watch: NetworkWatch?

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    init() throws {
        loop = try EventLoop.onNewThread(named: "test-watch")
    }

    /// Returns the states that a new watch reports before its initializer returns.
    func watch(requiresDefaultRoute: Bool, kinds: InterfaceKinds) -> [NetworkState] {
        var states: [NetworkState] = []
        let watch = NetworkWatch(on: loop, requiresDefaultRoute: requiresDefaultRoute, kinds: kinds) {
            states.append($0)
        }
        return withExtendedLifetime(watch) { states }
    }

    /// Watches a socket from now on.
    /// - Returns: the number of lists that were requested at once.
    func follow(_ socket: ScriptedNetlink) -> Int {
        watch = NetworkWatch(on: loop, requiresDefaultRoute: false, kinds: InterfaceKinds(), socket: socket) { _ in }
        return socket.questions
    }

    /// Watches one socket after the other as the machine's network.
    /// - Returns: the warnings after each change, and all states.
    func follow(_ sockets: [ScriptedNetlink?]) -> (warnings: [[String]], states: [NetworkState]) {
        var rest = sockets[...]
        var states: [NetworkState] = []
        let network = MachineNetwork(
            scheduler: ManualScheduler(), loop: loop, makeSocket: { rest.removeFirst() },
            onChange: { states.append($0) })
        let warnings = sockets.map { _ in
            network.follow(NetworkSettings(), http: nil)
            return network.warnings
        }
        return (warnings, states)
    }

    func send(_ socket: ScriptedNetlink, datagrams: Int) {
        socket.overrun(then: datagrams)
    }

    func questions(_ socket: ScriptedNetlink) -> Int {
        socket.questions
    }

    func end() async {
        watch = nil
        loop.stop()
        await loop.waitUntilClosed()
    }
}
