import HeadgateData

extension HeadgateClient {
    /// Announces where the program is, and waits until the daemon knows (Behaviour B26, F5). Each announcement may start a
    /// flush. It is announced again on each connection, but for `exiting`.
    public func announce(_ status: ApplicationStatus, deadline: Duration? = nil) async throws {
        try await begin { $0.announce($1, status, deadline: deadline, $2) }
    }
}

extension ClientConnection {
    /// Announces where the program is (Behaviour B26, F5). What the daemon took last is announced again on each connection,
    /// but for `exiting`; an announcement that it refuses, or that is given up, changes nothing.
    /// - Parameters:
    ///   - status: where it is.
    ///   - deadline: how long it may take until the daemon knows; nil is for ever.
    ///   - tell: told on the loop, in order; `ended` comes once and last.
    @discardableResult
    public func announce(
        _ status: ApplicationStatus, deadline: Duration? = nil, _ tell: @escaping (StandingReport) -> Void
    ) -> Call {
        let call = reserve()
        announce(call, status, deadline: deadline, tell)
        return call
    }

    fileprivate func announce(
        _ call: Call, _ status: ApplicationStatus, deadline: Duration?, _ tell: @escaping (StandingReport) -> Void
    ) {
        let giveBack: () -> Void = { [weak self] in
            if let former = self?.announcement, former != call { self?.renew(former) }
        }
        stand(
            call, "application.status", ["status": .string(status.rawValue)], as: "the application's status",
            deadline: deadline, giveBack: giveBack
        ) { [weak self] news in
            self?.note(news, ofAnnouncement: call)
            tell(StandingReport(news))
            guard case .granted = news, status == .exiting else { return }
            self?.abandon(call)
        }
    }

    /// An announcement takes the place of the former one when the daemon grants it, and at no other time.
    private func note(_ news: StandingNews, ofAnnouncement call: Call) {
        switch news {
        case .granted where announcement != call:
            let former = announcement
            announcement = call
            if let former { abandon(former) }
        case .ended where announcement == call: announcement = nil
        case .granted, .interrupted, .ended: return
        }
    }
}
