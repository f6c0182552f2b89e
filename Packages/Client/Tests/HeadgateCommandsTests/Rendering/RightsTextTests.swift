import HeadgateData
import Testing

@testable import HeadgateCommands

@Suite("The command whoami")
struct RightsTextTests {
    @Test("X1: the doctor shows the rights and their effect")
    func finding() {
        let finding = RightsText.finding(["uid": 1000, "gid": 50, "groups": ["track", "read"]])
        #expect(finding.words == "you may send events (track), see the contents of events (read)")
    }

    @Test("X1: whoami shows the user, its rights, and its namespace")
    func text() {
        let answer: DataObject = ["uid": 1000, "gid": 50, "groups": ["track", "observe"], "namespace": "uid:1000"]
        #expect(
            RightsText.text(answer) == """
                user       1000 (group 50)
                rights     track, observe
                namespace  uid:1000

                """)
    }
}
