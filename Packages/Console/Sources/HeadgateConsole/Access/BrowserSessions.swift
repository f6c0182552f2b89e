/// The sessions of browsers that have sent the token. A session ends after twelve hours without a request, when the
/// user signs out, and when the token changes. A pure value.
struct BrowserSessions {
    /// The time without a request after which a session ends.
    static let longestIdle = Duration.seconds(12 * 3_600)
    /// The most sessions. A further one ends the session that was used least recently.
    static let most = 256

    /// The time of each session's last request, by the session's secret ID.
    private var lastUse: [String: Duration] = [:]

    /// The number of open sessions.
    var count: Int { lastUse.count }

    /// Begins a session.
    /// - Parameters:
    ///   - now: the time on a clock that never goes back.
    ///   - id: a new secret.
    mutating func begin(at now: Duration, id: String) {
        endIdle(at: now)
        if lastUse.count >= BrowserSessions.most, let oldest = lastUse.min(by: { $0.value < $1.value }) {
            lastUse[oldest.key] = nil
        }
        lastUse[id] = now
    }

    /// Returns true if one of the IDs is that of an open session, and counts the request as a use of the session.
    mutating func use(_ ids: [String], at now: Duration) -> Bool {
        endIdle(at: now)
        guard let id = ids.first(where: { lastUse[$0] != nil }) else { return false }
        lastUse[id] = now
        return true
    }

    /// Ends the sessions with these IDs.
    mutating func end(_ ids: [String]) {
        for id in ids { lastUse[id] = nil }
    }

    /// Ends all sessions.
    mutating func endAll() { lastUse = [:] }

    private mutating func endIdle(at now: Duration) {
        lastUse = lastUse.filter { now - $0.value < BrowserSessions.longestIdle }
    }
}
