import HeadgateClient
import Testing

@Suite struct SocketPlaceTests {
    @Test(
        "The socket is looked for where the protocol says",
        arguments: [
            (["HEADGATE_SOCKET": "/a/b.sock", "XDG_RUNTIME_DIR": "/run/user/7"], "/a/b.sock"),
            (["HEADGATE_SOCKET": "", "XDG_RUNTIME_DIR": "/run/user/7"], "/run/user/7/headgate/headgate.sock"),
            (["XDG_RUNTIME_DIR": "relative"], "/run/headgate/headgate.sock"),
            ([:], "/run/headgate/headgate.sock"),
        ])
    func places(variables: [String: String], path: String) {
        #expect(SocketPlace.usual { variables[$0] } == path)
    }
}
