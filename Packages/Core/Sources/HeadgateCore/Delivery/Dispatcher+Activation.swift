import HeadgateData

/// The activation barrier of a dispatcher (Behaviour A9).
extension Dispatcher {
    /// Has the ActivationGate that the settings ask for stand before the dispatcher, or none.
    func placeActivationGate() {
        guard activationGate?.settings != settings.activationBarrier else { return }
        removeActivationGate()
        guard let barrier = settings.activationBarrier else { return }
        let gate = ActivationGate(
            barrier, dispatcherId: id, worker: surroundings.worker, activator: surroundings.boardActivator
        ) { [weak self] in self?.waitAfterRefusal(&$0) ?? .zero }
        gate.onChange = { [weak self] in self?.activationChanged() }
        activationGate = gate
        let identity = BarrierIdentity(
            id: "\(ActivationGate.kind):\(id)", kind: ActivationGate.kind, word: ActivationGate.word)
        surroundings.coordinator.register(gate, identity: identity, scopes: [.dispatcher(id: id)])
        surroundings.coordinator.setConfiguration(barrier.configuration, of: gate)
    }

    private func activationChanged() {
        surroundings.markDirty(id)
        surroundings.coordinator.barriersChanges.send(())
    }

    func removeActivationGate() {
        guard let gate = activationGate else { return }
        activationGate = nil
        surroundings.coordinator.unregister(gate)
        gate.end()
    }

    /// The first that waits starts the board.
    func wantActivation() {
        guard let activationGate, pending > 0, !isStopping else { return }
        activationGate.want()
    }

    private func waitAfterRefusal(_ retries: inout RetryPolicy) -> Duration {
        retries.failed(
            base: settings.backoffBase, cap: settings.backoffCap, retryAfter: nil, chance: surroundings.chance())
    }

    /// Takes the events of a failed batch back. A 401 makes the board run again, and events go once more before they are
    /// judged; any other answer in between, and they may again.
    /// - Parameter generation: the opening of the gate under which the batch was sent; nil when there was no gate.
    /// - Returns: what of the batch is to be judged.
    func takeBack(_ batch: Batch, sentUnder generation: Int?, after result: SendResult) -> Batch {
        let sequenceNumbers = batch.sequenceNumbers
        guard let activationGate, let generation, result.isUnauthorized else {
            queue.takeBack(sequenceNumbers) { $0.wasUnauthorized = false }
            return batch
        }
        activationGate.renew(generation)
        // What must go once goes once (Behaviour D2).
        var judged = sequenceNumbers
        if !batch.isOversize { judged = unauthorized(sequenceNumbers) }
        queue.takeBack(sequenceNumbers) { $0.wasUnauthorized = true }
        var part = batch
        part.events.removeAll { !judged.contains($0.sequenceNumber) }
        return part
    }

    private func unauthorized(_ sequenceNumbers: SequenceSet) -> SequenceSet {
        SequenceSet(queue.entries(of: sequenceNumbers).filter(\.wasUnauthorized).map(\.sequenceNumber))
    }
}

extension SendResult {
    fileprivate var isUnauthorized: Bool {
        if case .refused(let refusal) = self { refusal.status == 401 } else { false }
    }
}

extension DispatcherActivation {
    /// As the settings have it.
    fileprivate var configuration: DataObject {
        var configuration: DataObject = ["board": .string(board)]
        if let sticky { configuration["sticky_ms"] = .number(DataNumber(Int(sticky.wholeMilliseconds))) }
        return configuration
    }
}
