/// Limits that no setting changes: far above what a client has use for, and there so that none can make the service grow
/// or slow down (Behaviour X2). More are ``Watches/mostPerSession``, ``EventReader/longestWord`` and
/// `RemoteBarriers.most`.
extension Limits {
    /// The most messages in one batch. When the answers to a batch come to `max_output_bytes`, what is left of it is
    /// refused as well.
    static let mostInBatch = 1024
    /// The most flushes that one user may have under way. They go on when the connection has ended that asked for them.
    static let mostFlushesPerUser = 256
    /// The most bytes of what clients call themselves, of a version, and of a flush.
    static let longestName = 256
    /// The most bytes of a reason, which is shown wherever its barrier is.
    static let longestReason = 1024
    /// The most scopes of a barrier.
    static let mostScopes = 256
    /// The most dispatchers, and the most barriers, that settings may name: each of these has a state for each of those,
    /// and an answer tells them all.
    static let mostDispatchers = 256
    static let mostBarriers = 256
    /// The most load rules, the most gateway rules, the most transformations and the most names of interfaces in settings:
    /// some are held against all others of their kind when settings change, some against every event.
    static let mostRules = 1024
    /// The most headers of a dispatcher.
    static let mostHeaders = 256
    /// The most bytes of the programmatic layer, as of a settings file.
    static let mostProgrammaticBytes = 4 << 20
    /// The most warnings that `status` tells one by one.
    static let mostWarnings = 100
}
