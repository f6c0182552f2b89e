import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("Room that events leave on a full disk")
struct LogReserveTests {
    private let reserve = LogReserve(in: LogFile(number: 1, size: 1 << 20), StoreOptions(directory: "/"))

    private func left(_ change: LogChange) -> Int { reserve.left(by: LogEntry.changes([change]).claim) }

    @Test("Q8: changes that make room may use more of the reserve than others, and events none")
    func order() {
        let deadLetter = LogChange.requested(.deadLetter(.sample(1)))
        #expect(reserve.left(by: .events) == reserve.bytes)
        #expect(left(.requested(.settled(1, Settled(through: 1)))) == reserve.bytes / 4 * 3)
        #expect(left(deadLetter) == reserve.bytes / 2 && left(.requested(.keep("a", nil))) == reserve.bytes / 2)
        #expect(left(.deadLettersGone([1])) == reserve.bytes / 4, "deleting dead letters makes room")
        #expect(
            left(.requested(.limitDeadLetters(DeadLetterLimits()))) == reserve.bytes / 4, "so does dropping the oldest")
        #expect(left(.forgotten([1])) == 0)
    }

    @Test("Q8: combined changes use the share of the most urgent one")
    func together() {
        let entry = LogEntry.changes([.requested(.settled(1, Settled(through: 1))), .deadLettersGone([1])])
        #expect(reserve.left(by: entry.claim) == reserve.bytes / 4)
        #expect(reserve.left(by: .events, makesRoom: true) == reserve.bytes / 8)
        #expect(reserve.left(by: .own, makesRoom: true) == 0)
    }
}
