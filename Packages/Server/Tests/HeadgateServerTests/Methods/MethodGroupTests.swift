import HeadgateTransport
import HeadgateWire
import Testing

@testable import HeadgateServer

@Suite("Groups of methods")
struct MethodGroupTests {
    @Test("X1: a user without grants may call only the methods of the group track", arguments: MethodGroup.allCases)
    func stranger(_ group: MethodGroup) {
        let peer = PeerCredentials(pid: 7, uid: 4711, gid: 4711, groups: [])
        let caller = Caller(peer, access: AccessSettings(), daemonUID: 1000)
        for method in MethodTable.all where method.group == group {
            let reason: ErrorReason?
            do throws(RPCError) {
                _ = try MethodTable.method(method.name.description, for: caller)
                reason = nil
            } catch {
                reason = error.reason
            }
            #expect(reason == (group == .track ? nil : .unauthorized), "\(method.name)")
        }
    }

    /// Grants of a right: by user, by group, and by supplementary group.
    private static let grants: [AccessSettings.Grant] = [
        AccessSettings.Grant(uids: [4711]), AccessSettings.Grant(gids: [4712]), AccessSettings.Grant(gids: [4713]),
    ]

    @Test(
        "X1: a grant to the user, its group or a supplementary group allows that group of methods, and no other",
        arguments: MethodGroup.allCases.filter { $0 != .track }, 0..<3)
    func granted(_ group: MethodGroup, _ index: Int) {
        var access = AccessSettings()
        switch group {
        case .track: return
        case .observe: access.observe = Self.grants[index]
        case .read: access.read = Self.grants[index]
        case .configure: access.configure = Self.grants[index]
        case .control: access.control = Self.grants[index]
        case .serve: access.serve = Self.grants[index]
        }
        let peer = PeerCredentials(pid: 7, uid: 4711, gid: 4712, groups: [4712, 4713])
        let other = PeerCredentials(pid: 7, uid: 4712, gid: 4711, groups: [4711])
        for method in MethodTable.all {
            let isOpen = method.group == .track || method.group == group
            #expect(mayCall(method, peer, access) == isOpen, "\(method.name)")
            #expect(mayCall(method, other, access) == (method.group == .track), "\(method.name)")
        }
    }

    @Test("X1: root and the daemon's own user may call all methods", arguments: [0, 1000] as [UInt32])
    func trusted(_ uid: UInt32) {
        let peer = PeerCredentials(pid: 7, uid: uid, gid: 4711, groups: [])
        for method in MethodTable.all { #expect(mayCall(method, peer, AccessSettings()), "\(method.name)") }
    }

    @Test("X1: the error of a refused call names the method, the missing group, and the setting that grants it")
    func refusal() throws {
        let peer = PeerCredentials(pid: 7, uid: 4711, gid: 4711, groups: [])
        let caller = Caller(peer, access: AccessSettings(), daemonUID: 1000)
        for (method, group) in [("config.set", "configure"), ("queue.peek", "read"), ("dispatcher.pause", "control")] {
            do throws(RPCError) {
                _ = try MethodTable.method(method, for: caller)
                Issue.record("\(method) is allowed")
            } catch {
                #expect(error.data["group"] == .string(group))
                #expect(error.message.contains(method) && error.message.contains("access.\(group)"))
            }
        }
    }

    @Test("X1: only methods of `configure` change settings, and only methods of `read` return events' contents")
    func groups() {
        func methods(_ group: MethodGroup) -> Set<String> {
            Set(MethodTable.all.filter { $0.group == group }.map(\.name.description))
        }
        #expect(methods(.configure) == ["config.set"])
        #expect(methods(.read) == ["queue.peek", "dead_letters.list", "store.backup"])
        #expect(methods(.track).contains("rights"))
    }

    private func mayCall(_ method: Method, _ peer: PeerCredentials, _ access: AccessSettings) -> Bool {
        let caller = Caller(peer, access: access, daemonUID: 1000)
        return (try? MethodTable.method(method.name.description, for: caller)) != nil
    }
}
