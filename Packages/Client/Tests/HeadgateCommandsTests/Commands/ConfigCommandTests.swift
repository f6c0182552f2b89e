import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateCommands

@Suite struct SettingsPatchTests {
    @Test("S1: key paths and values become one patch, which keeps every digit")
    func patch() throws {
        let patch = try SettingsPatch.parse([
            "barriers.BatchingBarrier.configuration.batch_size=20", "barriers.BatchingBarrier.scopes=[\"a\"]",
            "store.max_events=1.50", #"network.interface_kinds."wwan0.1"="cellular""#, "remote=null",
            #"load_rules.x={"operator":"equals","path":"event","value":"a=b"}"#,
        ])
        #expect(
            DataItem.object(patch).json == #"{"barriers":{"BatchingBarrier":{"configuration":{"batch_size":20},"#
                + #""scopes":["a"]}},"store":{"max_events":1.50},"#
                + #""network":{"interface_kinds":{"wwan0.1":"cellular"}},"remote":null,"#
                + #""load_rules":{"x":{"operator":"equals","path":"event","value":"a=b"}}}"#)
    }

    @Test(
        "Wrong usage is reported with the right form",
        arguments: [
            (
                "durability=normal",
                "normal is not JSON; a JSON string needs its own quotes inside the shell's: 'durability=\"normal\"'"
            ),
            ("durability=", " is not JSON; a JSON string needs its own quotes inside the shell's: 'durability=\"\"'"),
            ("durability", "durability is not of the form PATH=JSON"), ("=1", "=1: a key is empty"),
            ("a..b=1", "a..b=1: a key is empty"), ("a.=1", "a.=1: a key is empty"),
            ("a.\"b=1", "a.\"b=1: a quote is not closed"), ("\"a\"b=1", "\"a\"b=1: unexpected text: b=1"),
            ("transformations[0]=1", "transformations[0]=1: arrays are set as a whole"),
        ])
    func faults(word: String, message: String) {
        #expect(throws: UsageError(message: "config set: \(message)", command: "config set")) {
            try SettingsPatch.parse([word])
        }
    }

    @Test("Two values for one path, or for one inside the other, are refused", arguments: ["a.b=2", "a=2", "a.b.c=2"])
    func overlap(word: String) {
        #expect(
            throws: UsageError(
                message: "config set: a.b=1 and \(word) set overlapping key paths", command: "config set")
        ) {
            try SettingsPatch.parse(["a.b=1", word])
        }
    }
}

@Suite struct DaemonProgramTests {
    @Test("The command searches the daemon's program in its own directory first, then in those of PATH")
    func candidates() {
        #expect(
            DaemonProgram.candidates(beside: "/opt/headgate/bin/headgate", searchPath: "/usr/bin:/bin")
                == ["/opt/headgate/bin/headgated", "/usr/bin/headgated", "/bin/headgated"])
        #expect(DaemonProgram.candidates(beside: nil, searchPath: "/bin") == ["/bin/headgated"])
        #expect(DaemonProgram.candidates(beside: "/headgate", searchPath: nil) == ["/headgated"])
    }
}
