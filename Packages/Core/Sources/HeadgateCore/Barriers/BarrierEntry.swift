import HeadgateData

/// A registered barrier with all that the coordinator keeps of it.
final class BarrierEntry {
    let barrier: any Barrier
    var identity: BarrierIdentity
    var scopes: [BarrierScope]
    /// The settings that it was made with or told last, for a configured one.
    var configuration: DataObject?
    /// Its state when it fails (Behaviour B9).
    var stateOnError = BarrierState.open
    /// What it failed of, by the dispatchers for which it has not recovered.
    var failures: [String: String] = [:]
    /// Its last word on being flushable; nil until it has given one.
    var isFlushable: Bool?
    /// When its state last changed.
    var since: Timestamp
    var flushability: (any Disposable)?
    /// Subscriptions to its state, by the dispatchers that it stands before.
    var observations: [String: any Disposable] = [:]

    init(barrier: any Barrier, identity: BarrierIdentity, scopes: [BarrierScope], since: Timestamp) {
        self.barrier = barrier
        self.identity = identity
        self.scopes = scopes
        self.since = since
    }

    /// Stops listening for one dispatcher.
    func forget(_ dispatcherId: String) {
        failures[dispatcherId] = nil
        observations.removeValue(forKey: dispatcherId)?.dispose()
    }
}
