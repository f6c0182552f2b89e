import Testing

@testable import HeadgateCommands

@Suite("The directory of a follower's positions")
struct FollowDirectoryTests {
    private func state(of file: String, _ environment: [String: String], userID: UInt32 = 1000) -> String? {
        FollowDirectory(environment: environment, userID: userID).state(of: file)
    }

    @Test("X8: the state is in a directory of the follower, never beside the followed file")
    func directory() {
        let all = ["STATE_DIRECTORY": "/var/lib/shop:/other", "XDG_STATE_HOME": "/x", "HOME": "/home/ann"]
        #expect(state(of: "/srv/app/log", all) == "/var/lib/shop/srv%2Fapp%2Flog")
        #expect(state(of: "/log", ["XDG_STATE_HOME": "/x", "HOME": "/h"]) == "/x/headgate/follow/log")
        #expect(state(of: "/log", ["HOME": "/h"]) == "/h/.local/state/headgate/follow/log")
        #expect(state(of: "/log", [:], userID: 0) == "/var/lib/headgate-follow/log")
        #expect(state(of: "/log", ["HOME": "relative"]) == nil)
    }

    @Test("X8: two files never have one state, also with long paths")
    func names() {
        let long = String(repeating: "/directory", count: 100)
        let names = ["/a/b", "/a%2Fb", "/a%b", "/a/b/", long + "1", long + "2"].map(FollowDirectory.name)
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { $0.utf8.count <= 200 && !$0.contains("/") })
    }
}
