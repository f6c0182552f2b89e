import HeadgateData

extension HeadgateClient {
    /// Announces where the program is, and waits until the daemon knows (Behaviour B26, F5). Each announcement may start a
    /// flush. It is announced again on each connection, but for `exiting`.
    public func announce(_ status: ApplicationStatus, deadline: Duration? = nil) async throws {
        try await begin { $0.announce($1, status, deadline: deadline, $2) }
    }
}

extension ClientConnection {
    /// Announces where the program is; what was announced before counts no more (Behaviour B26, F5). It is announced
    /// again on each connection, but for `exiting`.
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
        if let former = announcement { abandon(former) }
        announcement = call
        stand(call, "application.status", ["status": .string(status.rawValue)], deadline: deadline) {
            [weak self] news in
            tell(StandingReport(news))
            guard case .granted = news, status == .exiting else { return }
            self?.abandon(call)
        }
    }
}
