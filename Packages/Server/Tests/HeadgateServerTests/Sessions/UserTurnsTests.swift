import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateServer

@Suite("Turns of users")
struct UserTurnsTests {
    private let scheduler = ManualScheduler()

    @Test("X3: a user who is alone has the whole turn")
    func alone() {
        let turns = UserTurns(scheduler: scheduler)
        turns.spend(1_000_000, of: 7)
        #expect(turns.left(of: 7) == .max)
    }

    @Test("X3: all sessions of a user share its part of a turn, and another user's part is untouched")
    func shared() {
        let turns = UserTurns(scheduler: scheduler)
        turns.isShared = true
        for _ in 1...10 { turns.spend(TurnShare.whole, of: 7) }
        #expect(turns.left(of: 7) <= 0)
        #expect(turns.left(of: 8) == UserTurns.whole)
    }

    @Test("X3: a session whose user has nothing left takes no line, and takes lines again when the user has")
    func machine() {
        var machine = SessionMachine(limits: Limits())
        machine.userShare = 0
        #expect(machine.bytesCame() == .takeLines)
        var mayTake = machine.mayTakeLine(.init())
        #expect(!mayTake)
        #expect(machine.linesTaken(hasMore: true, .init()) == .pause(until: .turn))
        #expect(machine.turnCame() == .stayPaused(until: .turn))
        machine.userShare = 100
        #expect(machine.turnCame() == .takeLines)
        mayTake = machine.mayTakeLine(.init())
        #expect(mayTake)
        // The session's share is no larger than the share of its user.
        machine.share.spend(100)
        mayTake = machine.mayTakeLine(.init())
        #expect(!mayTake)
    }

    @Test("X3: waiting for one's user costs a session nothing of its later shares")
    func noDebt() {
        var share = TurnShare()
        share.renew(within: -1_400)
        #expect(share.isUsedUp)
        share.renew(within: 1_024)
        #expect(share.left == TurnShare.whole)
    }
}
