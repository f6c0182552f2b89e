import HeadgateTransport
import HeadgateWire
import Testing

@testable import HeadgateServer

@Suite("Groups of methods")
struct MethodGroupTests {
    /// As the protocol lists them.
    private static let groups: [MethodGroup: Set<String>] = [
        .track: [
            "hello", "ping", "track", "track_many", "flush", "application.status", "board.activate", "rpc.discover",
        ],
        .observe: [
            "status", "watch", "unwatch", "barrier.list", "dispatcher.list", "dead_letters.list", "queue.peek",
            "config.get",
        ],
        .control: [
            "flush.cancel", "barrier.register", "barrier.set", "barrier.unregister", "dispatcher.pause",
            "dispatcher.resume", "queue.purge", "dead_letters.requeue", "dead_letters.purge", "config.set",
            "config.reload",
        ],
        .serve: ["dispatcher.subscribe", "dispatcher.unsubscribe", "board.serve", "board.unserve"],
    ]

    @Test("X1: every method is in the group that the protocol says")
    func groups() {
        for method in MethodTable.all {
            #expect(Self.groups[method.group]?.contains(method.name) == true, "\(method.name)")
        }
    }

    @Test("X1: who is granted nothing may track, and is refused all else", arguments: MethodGroup.allCases)
    func stranger(_ group: MethodGroup) {
        let peer = PeerCredentials(pid: 7, uid: 4711, gid: 4711, groups: [])
        let caller = Caller(peer, access: AccessSettings(), daemonUID: 1000)
        let table = MethodTable()
        for method in MethodTable.all where method.group == group {
            let reason: ErrorReason?
            do throws(RPCError) {
                _ = try table.method(method.name, for: caller)
                reason = nil
            } catch {
                reason = error.reason
            }
            #expect(reason == (group == .track ? nil : .unauthorized), "\(method.name)")
        }
    }
}
