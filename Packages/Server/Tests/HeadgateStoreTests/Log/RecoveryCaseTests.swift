import Testing

@testable import HeadgateStore

@Suite("The table of recovery cases")
struct RecoveryCaseTests {
    /// All combinations of facts that can be true together.
    private static let possible: [LogEvidence] = (0..<256).map { bits in
        let facts = (0..<8).map { bits >> $0 & 1 == 1 }
        return LogEvidence(
            hasStart: facts[0], hasFiles: facts[1], isOwn: facts[2], isWhole: facts[3], isClosed: facts[4],
            isCertain: facts[5], hasOwnStart: facts[6], hasRoom: facts[7])
    }.filter(\.isPossible)

    @Test("Q8: each possible combination of facts matches exactly one case, and each case matches some")
    func exactlyOne() {
        #expect(Self.possible.count > 50)
        for evidence in Self.possible {
            let labels = RecoveryCase.all.filter { $0.matches(evidence) }.map(\.label)
            #expect(labels.count == 1, "\(labels) match \(evidence)")
        }
        for found in RecoveryCase.all {
            #expect(Self.possible.contains { found.matches($0) }, "\(found.label) matches nothing")
        }
        #expect(RecoveryCase.all.map(\.label) == Array("ABCDEFGHIJ"))
    }

    @Test("Q8, P1: the action of each case fits its facts")
    func claims() throws {
        for evidence in Self.possible {
            let action = try #require(RecoveryCase.of(evidence)).action
            // A new log is begun only if no log exists. Only a log without a start is set aside.
            #expect((action == .begin) == (!evidence.hasFiles && !evidence.isOwn), "\(evidence)")
            #expect((action == .setAside) == (evidence.hasFiles && !evidence.hasStart), "\(evidence)")
            // A process that has written to the log keeps the state that it knows.
            if evidence.isOwn { #expect(action != .begin && action != .resume) }
            // The log resumes in a segment only if the segment is closed, certain and whole.
            if action == .resume {
                #expect(evidence.isClosed && evidence.isCertain && evidence.isWhole, "\(evidence)")
            }
            // A rewrite needs room. Without room, only a segment with its own start is affirmed.
            if action == .rewrite { #expect(evidence.hasRoom) }
            if action == .affirm { #expect(!evidence.hasRoom && evidence.hasOwnStart, "\(evidence)") }
            // With room, every log with a start can be used.
            if evidence.hasRoom, evidence.hasStart { #expect(action != .refuse, "\(evidence)") }
        }
    }
}
