import HeadgateData

extension HeadgateClient {
    /// Announces the application's status, and waits until the daemon has it (Behaviour B26, F5). Each announcement
    /// may start a flush. The client announces it again on each connection, except `exiting`.
    public func announce(_ status: ApplicationStatus, deadline: Duration? = nil) async throws {
        try await begin { $0.announce($1, status, deadline: deadline, $2) }
    }
}

extension ClientConnection {
    /// Announces the application's status (Behaviour B26, F5). The client announces the status that the daemon took
    /// last again on each connection, except `exiting`. A refused or cancelled announcement changes nothing.
    /// - Parameters:
    ///   - status: the status.
    ///   - deadline: the longest time until the first grant; nil for none.
    ///   - notify: called on the loop, in order; `ended` comes once and last.
    @discardableResult
    public func announce(
        _ status: ApplicationStatus, deadline: Duration? = nil, _ notify: @escaping (PersistentCallReport) -> Void
    ) -> Call {
        let call = reserve()
        announce(call, status, deadline: deadline, notify)
        return call
    }

    fileprivate func announce(
        _ call: Call, _ status: ApplicationStatus, deadline: Duration?,
        _ notify: @escaping (PersistentCallReport) -> Void
    ) {
        let giveBack: () -> Void = { [weak self] in
            if let former = self?.announcement, former != call { self?.renew(former) }
        }
        stand(
            call, "application.status", ["status": .string(status.rawValue)], as: "the application's status",
            deadline: deadline, giveBack: giveBack
        ) { [weak self] news in
            self?.note(news, ofAnnouncement: call)
            notify(PersistentCallReport(news))
            guard case .granted = news, status == .exiting else { return }
            self?.cancel(call)
        }
    }

    /// Replaces the earlier announcement when the daemon grants the new one, and at no other time.
    private func note(_ news: PersistentCallNews, ofAnnouncement call: Call) {
        switch news {
        case .granted where announcement != call:
            let former = announcement
            announcement = call
            if let former { cancel(former) }
        case .ended where announcement == call: announcement = nil
        case .granted, .interrupted, .ended: return
        }
    }
}
