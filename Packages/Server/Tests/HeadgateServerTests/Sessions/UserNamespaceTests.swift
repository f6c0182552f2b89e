import Glibc
import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

@Suite("Namespaces of users")
struct UserNamespaceTests {
    private func user(_ uid: UInt32, groups: [UInt32] = []) -> PeerCredentials {
        PeerCredentials(pid: 7, uid: uid, gid: uid, groups: groups)
    }

    private func stored(_ chosen: String, of user: PeerCredentials, sharing: [String: AccessSettings.Grant] = [:])
        -> String
    {
        var access = AccessSettings()
        access.sharedNamespaces = sharing
        var caller = Caller(user, access: access, daemonUID: 1)
        caller.choose(namespace: chosen, access: access)
        return caller.namespace
    }

    @Test("X5: a chosen namespace is stored with the user's ID, so two users cannot have the same one")
    func own() {
        #expect(Caller(user(1000), access: AccessSettings(), daemonUID: 1).namespace == "uid:1000")
        #expect(stored("shop", of: user(1000)) == "uid:1000/shop")
        #expect(stored("shop", of: user(1234)) == "uid:1234/shop")
        // A user may choose its own namespaces by their stored names, and cannot choose another user's.
        #expect(stored("uid:1000", of: user(1000)) == "uid:1000")
        #expect(stored("uid:1000/shop", of: user(1000)) == "uid:1000/shop")
        #expect(UserNamespace.isForeign("uid:1000/shop", to: 100) && UserNamespace.isForeign("uid:100", to: 1000))
        #expect(UserNamespace.isForeign("uid:1000/", to: 1000) && UserNamespace.isForeign("uid:1000x", to: 1000))
        #expect(!UserNamespace.isForeign("shop", to: 1000))
    }

    @Test("X5: a shared namespace is stored without a user ID, for the users who share it only")
    func shared() {
        let sharing = ["shop": AccessSettings.Grant(uids: [1000], gids: [33])]
        #expect(stored("shop", of: user(1000), sharing: sharing) == "shop")
        #expect(stored("shop", of: user(1001, groups: [33]), sharing: sharing) == "shop")
        #expect(stored("shop", of: user(1002), sharing: sharing) == "uid:1002/shop")
        #expect(stored("shop", of: user(0), sharing: sharing) == "uid:0/shop")
    }

    @Test("X5: a change of the shared namespaces changes the namespace of connected clients at once")
    func changed() {
        var access = AccessSettings()
        access.sharedNamespaces = ["shop": AccessSettings.Grant(uids: [1000])]
        var caller = Caller(user(1000), access: access, daemonUID: 1)
        caller.choose(namespace: "shop", access: access)
        caller.grant(AccessSettings())
        #expect(caller.namespace == "uid:1000/shop")
        caller.grant(access)
        #expect(caller.namespace == "shop")
    }

    @Test("X5: event.trace accepts a shared namespace, one of the caller's, and another user's stored name")
    func requested() {
        var access = AccessSettings()
        access.sharedNamespaces = ["shop": AccessSettings.Grant(uids: [1000])]
        func name(_ requested: String) -> String { UserNamespace.requested(requested, by: user(0), access) }
        #expect(name("shop") == "shop" && name("mine") == "uid:0/mine" && name("uid:5/x") == "uid:5/x")
    }

    @Test("X5: the name of a shared namespace must not have the form of a user's namespace")
    func names() {
        let settings: DataObject = ["access": ["shared_namespaces": ["uid:7/shop": ["uids": [1]]]]]
        #expect(Settings.read(settings).faults.map(\.path) == ["access.shared_namespaces.uid:7/shop"])
    }
}

@Suite("Names of users and groups in the settings")
struct AccountNameTests {
    @Test("X1: settings grant rights to users and groups by name; each unknown name is a fault with its path")
    func names() throws {
        let settings: DataObject = [
            "access": [
                "observe": ["users": ["root"], "groups": ["root", "no-such-group"]],
                "configure": ["users": ["no-such-user"]],
            ]
        ]
        #expect(
            Settings.read(settings).faults.map(\.path) == ["access.observe.groups[1]", "access.configure.users[0]"])
        let known: DataObject = ["access": ["read": ["users": ["root"]], "control": ["groups": ["root"]]]]
        let access = try #require(Settings.read(known).settings).access
        let root = PeerCredentials(pid: 7, uid: 0, gid: 9, groups: [])
        let other = PeerCredentials(pid: 7, uid: 9, gid: 0, groups: [])
        #expect(access.read.includes(root) && !access.read.includes(other))
        #expect(access.control.includes(other) && !access.control.includes(root))
        // `config.get` shows the names as they were written.
        #expect(access.object["read"] == ["uids": [], "gids": [], "users": ["root"], "groups": []])
    }

    @Test("X1: a name that contains a NUL byte is unknown")
    func nul() {
        #expect(AccountName.uid("root\0x") == nil && AccountName.gid("root\0x") == nil)
    }
}
