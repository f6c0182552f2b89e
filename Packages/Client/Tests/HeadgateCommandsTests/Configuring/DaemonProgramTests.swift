import Testing

@testable import HeadgateCommands

@Suite struct DaemonProgramTests {
    @Test("The daemon is looked for beside the tool first, then in the directories of PATH")
    func candidates() {
        #expect(
            DaemonProgram.candidates(beside: "/opt/headgate/bin/headgate", searchPath: "/usr/bin:/bin")
                == ["/opt/headgate/bin/headgated", "/usr/bin/headgated", "/bin/headgated"])
        #expect(DaemonProgram.candidates(beside: nil, searchPath: "/bin") == ["/bin/headgated"])
        #expect(DaemonProgram.candidates(beside: "/headgate", searchPath: nil) == ["/headgated"])
    }
}
