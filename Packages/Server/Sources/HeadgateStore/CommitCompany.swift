/// Whether it is worth while to wait a moment for more events before those at hand are committed in place (Behaviour Q5). Pure.
///
/// Clients that wait for their acknowledgements send again once they have them, one after the other. If the first that comes were
/// committed alone, the others would come meanwhile and have to wait for another commit: with some clients each waits for two, and the disk
/// has twice as much to do. So who is told together is expected to come again, with those who came while the disk was at work.
///
/// Nobody waits longer than a commit takes. Where those who are expected do not come, they are not expected for a while, and a client that is
/// alone waits for nobody.
struct CommitCompany {
    typealias Instant = ContinuousClock.Instant

    /// Until when others are waited for; nil when nobody is.
    private var deadline: Instant?
    /// So many events are expected together.
    private var expected = 1
    /// So many of them have been told of, and those that came meanwhile are not counted yet.
    private var told: Int?
    /// Looks since the last commit.
    private var looks = 0
    /// Commits until one that is alone is looked after again.
    private var restOfSolitude = 0
    /// How often in a row those who were expected did not come, and commits until anybody is expected again.
    private var (misses, restOfMisses) = (0, 0)

    /// A quicker disk is not worth waiting for.
    private static let least = Duration.microseconds(40)
    private static let most = Duration.microseconds(200)
    /// Each is a turn of the loop. There is an end to them whatever the clock says.
    private static let mostLooks = 100
    /// Of a client that is alone each sixteenth commit is looked after.
    private static let solitude = 15
    private static let mostMisses = 6

    /// So many events were committed in place.
    /// - Parameter duration: how long that took.
    mutating func committed(_ events: Int, at now: Instant, took duration: Duration) {
        guard events > 0 else { return }
        (deadline, told, looks) = (nil, nil, 0)
        guard duration >= CommitCompany.least, restOfMisses == 0 else {
            restOfMisses = max(0, restOfMisses - 1)
            return
        }
        if events == 1, expected == 1, restOfSolitude > 0 {
            restOfSolitude -= 1
            return
        }
        restOfSolitude = CommitCompany.solitude
        deadline = now + min(duration, CommitCompany.most)
        told = events
    }

    /// Whether it should be looked at once what came while the disk was at work.
    var wantsLook: Bool { told != nil }

    /// Whether events at hand should wait until it is looked again. The clock is asked only where somebody may be waited for.
    mutating func waits(with events: Int, at now: @autoclosure () -> Instant) -> Bool {
        if let told {
            (expected, self.told) = (told + events, nil)
        }
        guard let deadline, expected > 1, events > 0 else { return false }
        if events < expected, now() < deadline, looks < CommitCompany.mostLooks {
            looks += 1
            return true
        }
        self.deadline = nil
        noteEnd(isMiss: events < expected)
        return false
    }

    private mutating func noteEnd(isMiss: Bool) {
        misses = isMiss ? min(misses + 1, CommitCompany.mostMisses) : 0
        restOfMisses = isMiss ? 1 << misses : 0
    }
}
