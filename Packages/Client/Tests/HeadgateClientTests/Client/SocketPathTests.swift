import HeadgateClient
import Testing

@Suite struct SocketPathTests {
    @Test(
        "The client looks for the socket in the order of the protocol",
        arguments: [
            (["HEADGATE_SOCKET": "/a/b.sock", "XDG_RUNTIME_DIR": "/run/user/7"], "/a/b.sock"),
            (["HEADGATE_SOCKET": "", "XDG_RUNTIME_DIR": "/run/user/7"], "/run/user/7/headgate/headgate.sock"),
            (["XDG_RUNTIME_DIR": "relative"], "/run/headgate/headgate.sock"),
            ([:], "/run/headgate/headgate.sock"),
        ])
    func paths(variables: [String: String], path: String) {
        #expect(SocketPath.default({ variables[$0] }, isThere: { _ in false }) == path)
    }

    @Test(
        "A user without a daemon of their own connects to the machine's",
        arguments: [
            (["/run/headgate"], "/run/headgate/headgate.sock"),
            (["/run/headgate", "/run/user/7/headgate"], "/run/user/7/headgate/headgate.sock"),
            (["/run/user/7/headgate"], "/run/user/7/headgate/headgate.sock"),
        ])
    func machine(folders: [String], path: String) {
        let variables = ["XDG_RUNTIME_DIR": "/run/user/7"]
        #expect(SocketPath.default({ variables[$0] }, isThere: folders.contains) == path)
    }
}
