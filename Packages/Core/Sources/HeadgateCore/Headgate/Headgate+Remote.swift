extension Headgate {
    /// Kinds of barriers that stand before each dispatcher, under their names and the dispatcher's id.
    private static let ownKinds = [ManualBarrier.kind, BackoffBarrier.kind, ActivationGate.kind]

    func makeRemoteBarriers() -> RemoteBarriers {
        RemoteBarriers(coordinator: coordinator) { [weak self] in self?.isReserved($0) ?? true }
    }

    /// Whether an id is kept for the service's own barriers, or for one of a kind that settings may name later.
    private func isReserved(_ id: String) -> Bool {
        factories[id] != nil || Headgate.ownKinds.contains { id == $0 || id.hasPrefix($0 + ":") }
    }
}
