/// The delay of a group commit: it decides whether events wait a moment for more events before the loop's thread commits
/// them (Behaviour Q5). Pure.
///
/// Clients that wait for their acknowledgements send again once they have them, one after the other. If the first of these
/// events were committed alone, the others would arrive meanwhile and would need a commit of their own. Then each client
/// waits for two commits, and the disk has twice as much to do. The delay therefore expects events from all clients whose
/// acknowledgements were sent together, and from those whose events arrived during the commit.
///
/// No client waits longer than a commit takes. If the expected events do not arrive, the delay expects none for a while. A
/// lone client does not wait.
struct GroupCommitDelay {
    typealias Instant = ContinuousClock.Instant

    /// The end of the wait; nil if events do not wait.
    private var deadline: Instant?
    /// The number of events that are expected together.
    private var expected = 1
    /// The number of events whose acknowledgements were sent last; nil once the events that arrived meanwhile have been
    /// added to it.
    private var acknowledged: Int?
    /// The number of turns since the last commit.
    private var turns = 0
    /// The number of further commits that check for no other events, because one client seems to be alone.
    private var commitsAlone = 0
    /// The number of consecutive waits that ended without the expected events.
    private var misses = 0
    /// The number of commits until events are expected again.
    private var commitsWithoutDelay = 0

    /// The shortest commit for which events wait. With a quicker disk a wait saves nothing.
    private static let least = Duration.microseconds(40)
    private static let most = Duration.microseconds(200)
    /// The most turns of a wait, independent of the clock.
    private static let mostTurns = 100
    /// With a lone client, one commit in 16 checks for other events.
    private static let mostCommitsAlone = 15
    private static let mostMisses = 6

    /// Records a commit of the loop's thread.
    /// - Parameters:
    ///   - events: the number of committed events.
    ///   - duration: the time that the commit took.
    mutating func committed(_ events: Int, at now: Instant, took duration: Duration) {
        guard events > 0 else { return }
        (deadline, acknowledged, turns) = (nil, nil, 0)
        guard duration >= GroupCommitDelay.least, commitsWithoutDelay == 0 else {
            commitsWithoutDelay = max(0, commitsWithoutDelay - 1)
            return
        }
        if events == 1, expected == 1, commitsAlone > 0 {
            commitsAlone -= 1
            return
        }
        commitsAlone = GroupCommitDelay.mostCommitsAlone
        deadline = now + min(duration, GroupCommitDelay.most)
        acknowledged = events
    }

    /// True if the loop should have a turn at once, to count the events that arrived during the commit.
    var wantsTurn: Bool { acknowledged != nil }

    /// Returns true if events wait until the end of another turn. The clock is read only if they may have to wait.
    mutating func delays(_ events: Int, at now: @autoclosure () -> Instant) -> Bool {
        if let acknowledged {
            (expected, self.acknowledged) = (acknowledged + events, nil)
        }
        guard let deadline, expected > 1, events > 0 else { return false }
        if events < expected, now() < deadline, turns < GroupCommitDelay.mostTurns {
            turns += 1
            return true
        }
        self.deadline = nil
        noteEnd(isMiss: events < expected)
        return false
    }

    private mutating func noteEnd(isMiss: Bool) {
        misses = isMiss ? min(misses + 1, GroupCommitDelay.mostMisses) : 0
        commitsWithoutDelay = isMiss ? 1 << misses : 0
    }
}
