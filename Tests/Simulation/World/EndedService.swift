@testable import HeadgateCore
@testable import HeadgateServer

extension Service {
    /// Breaks the reference cycle between a daemon that has ended and its sessions.
    /// - Returns: The sessions.
    func detachSessions() -> [Session] {
        let sessions = Array(self.sessions.all)
        for session in sessions { self.sessions.remove(session) }
        return sessions
    }

    /// Releases the references to sessions of a daemon that has ended: boards, watches, and waiting requests.
    func release(_ sessions: [Session]) {
        for session in sessions { session.connectionClosed() }
        gate.events.forgetWaiters()
        gate.tasks.end()
    }
}
