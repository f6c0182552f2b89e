import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateServer

@Suite("The users' shares of a turn")
struct UserTurnsTests {
    private let scheduler = ManualScheduler()

    @Test("X3: if only one user has sessions, the user has the whole turn")
    func alone() {
        let turns = UserTurns(scheduler: scheduler)
        turns.spend(1_000_000, of: 7)
        #expect(turns.left(of: 7) == .max)
    }

    @Test("X3: all sessions of a user use the user's share of a turn, and other users' shares are not affected")
    func shared() {
        let turns = UserTurns(scheduler: scheduler)
        turns.isShared = true
        for _ in 1...10 { turns.spend(TurnShare.whole, of: 7) }
        #expect(turns.left(of: 7) <= 0)
        #expect(turns.left(of: 8) == UserTurns.whole)
    }

    @Test("X3: a session takes no line while its user's share is used up, and takes lines again in a later turn")
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
        // A session's share is at most its user's.
        machine.share.spend(100)
        mayTake = machine.mayTakeLine(.init())
        #expect(!mayTake)
    }

    @Test("X3: a session that waited for its user's share has its full share later")
    func noDebt() {
        var share = TurnShare()
        share.renew(within: -1_400)
        #expect(share.isUsedUp)
        share.renew(within: 1_024)
        #expect(share.left == TurnShare.whole)
    }
}
