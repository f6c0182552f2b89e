import Testing

@testable import HeadgateServer

/// Tests the reason that `client.list` shows for a client whose requests the daemon does not read.
@Suite("The reason why a session does not read")
struct SessionStopTests {
    private static func limits(unanswered: Int = 100, bytes: Int = 1_000, output: Int = 1_000) -> Limits {
        var limits = Limits()
        (limits.maxUnanswered, limits.maxUnansweredBytes, limits.maxOutputBytes) = (unanswered, bytes, output)
        return limits
    }

    private static func output(_ bytes: Int, isGroupFull: Bool = false) -> SessionMachine.Dependencies {
        SessionMachine.Dependencies(outputBytes: bytes, isGroupFull: isGroupFull)
    }

    /// Returns a state machine that is taking lines, with this many messages in progress.
    /// - Parameter bytes: the total size of these messages.
    private func taking(_ limits: Limits = SessionStopTests.limits(), _ messages: Int = 0, bytes: Int = 0)
        -> SessionMachine
    {
        var machine = SessionMachine(limits: limits)
        #expect(machine.bytesCame() == .takeLines)
        machine.took(messages, bytes: bytes)
        return machine
    }

    private func mayCall(_ machine: SessionMachine, _ now: SessionMachine.Dependencies) -> Bool {
        var machine = machine
        return machine.mayTakeCall(now)
    }

    @Test("X2: the reason is the limit that the account has reached")
    func reasons() {
        var unanswered = taking(Self.limits(unanswered: 2), 2, bytes: 10)
        #expect(unanswered.linesTaken(hasMore: true, Self.output(0)) == .pause(until: .room))
        #expect(unanswered.stop(Self.output(0)) == .unanswered)

        var bytes = taking(Self.limits(), 2, bytes: 1_000)
        #expect(bytes.linesTaken(hasMore: true, Self.output(0)) == .pause(until: .room))
        #expect(bytes.stop(Self.output(0)) == .unansweredBytes)

        var unread = taking()
        #expect(unread.linesTaken(hasMore: true, Self.output(1_000)) == .pause(until: .room))
        #expect(unread.stop(Self.output(1_000)) == .unreadAnswers)

        var kept = taking(Self.limits(), 1, bytes: 10)
        kept.kept(bytes: 600)
        #expect(kept.linesTaken(hasMore: true, Self.output(400)) == .pause(until: .room))
        #expect(kept.stop(Self.output(400)) == .unreadAnswers)
    }

    @Test("X2: the reason is the present one, not the one for which the session was paused")
    func changes() {
        var machine = taking(Self.limits(unanswered: 2), 2, bytes: 500)
        #expect(machine.linesTaken(hasMore: true, Self.output(0)) == .pause(until: .room))
        #expect(machine.settled(1, bytes: 250, Self.output(1_200)) == .nothing)
        #expect(machine.stop(Self.output(1_200)) == .unreadAnswers)
        #expect(machine.limitsChanged(to: Self.limits(unanswered: 1), Self.output(1_200)) == .nothing)
        #expect(machine.stop(Self.output(1_200)) == .unanswered)
        #expect(machine.limitsChanged(to: Self.limits(bytes: 250), Self.output(1_200)) == .nothing)
        #expect(machine.stop(Self.output(1_200)) == .unansweredBytes)
    }

    @Test("X2: a session that paused for unread answers reads again only when all of them have been read")
    func halfTaken() {
        var machine = taking()
        #expect(machine.linesTaken(hasMore: true, Self.output(1_000)) == .pause(until: .room))
        #expect(machine.stop(Self.output(10)) == .unreadAnswers)
        #expect(machine.roomChanged(Self.output(0)) == .stayPaused(until: .endOfTurn))
        #expect(machine.stop(Self.output(0)) == nil)
    }

    @Test("X2: a session that waits for the store has the reason `storing` until it takes lines again")
    func storing() {
        var machine = taking(Self.limits(unanswered: 2))
        let full = Self.output(0, isGroupFull: true)
        #expect(mayCall(machine, full))
        machine.holdLine()
        #expect(machine.linesTaken(hasMore: true, full) == .pause(until: .group))
        #expect(machine.stop(full) == .storing)
        #expect(machine.groupHasRoom() == .takeLines)
        #expect(machine.stop(Self.output(0)) == nil)
        machine.took(2, bytes: 10)
        #expect(machine.linesTaken(hasMore: true, Self.output(0)) == .stayPaused(until: .room))
        #expect(machine.stop(Self.output(0)) == .unanswered)
    }

    @Test("X2: while the commit group is full, a session without unanswered calls takes calls that store nothing")
    func callsWhileFull() {
        let full = Self.output(0, isGroupFull: true)
        var machine = taking()
        #expect(mayCall(machine, full))
        machine.took(1, bytes: 10)
        #expect(!mayCall(machine, full), "the first call is not answered yet")
        #expect(machine.settled(1, bytes: 10, full) == .nothing)
        #expect(mayCall(machine, full) && !mayCall(machine, Self.output(0)))
        // An incomplete line is no reason to pause.
        #expect(machine.linesTaken(hasMore: true, full) == .nothing)
        #expect(machine.reading == .open)
        #expect(machine.bytesCame() == .takeLines)
        machine.share.spend(TurnShare.whole)
        #expect(!mayCall(machine, full))
        #expect(machine.linesTaken(hasMore: true, full) == .pause(until: .turn))
    }

    @Test("X2: a session that reads now or in the next turn has no reason, even if its account is full")
    func none() {
        var machine = SessionMachine(limits: Self.limits())
        #expect(machine.stop(Self.output(2_000)) == nil)
        #expect(machine.bytesCame() == .takeLines)
        #expect(machine.stop(Self.output(2_000)) == nil)
        machine.share.spend(TurnShare.whole)
        #expect(machine.linesTaken(hasMore: true, Self.output(0)) == .pause(until: .turn))
        #expect(machine.stop(Self.output(2_000)) == nil)
        #expect(machine.turnCame() == .takeLines)
        #expect(machine.endReached() == .nothing)
        #expect(machine.linesTaken(hasMore: false, Self.output(2_000)) == .releaseProvider)
        #expect(machine.stop(Self.output(2_000)) == nil)
        machine.closed()
        #expect(machine.stop(Self.output(2_000)) == nil)
    }
}
