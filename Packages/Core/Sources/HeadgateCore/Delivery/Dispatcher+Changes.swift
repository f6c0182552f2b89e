extension Dispatcher {
    /// Goes on under other settings (Behaviour S3). What is on its way ends with the sender that has it.
    /// - Parameter newSender: nil: the present one stays.
    func change(to settings: DispatcherSettings, kind: String, sender newSender: (any Sender)?, reachesNetwork: Bool) {
        if let newSender {
            retiring.retire(sender, batches: batchesInFlight - retiring.batches)
            sender = newSender
        }
        self.settings = settings
        self.kind = kind
        self.reachesNetwork = reachesNetwork
        placeActivationGate()
        limit = BatchLimit(min(settings.dispatchLimit, sender.format.mostEvents))
        isStopping = false
        releaseFromRefusal()
        surroundings.markDirty(id)
    }

    /// Gives up all that is on its way (Behaviour D11).
    func interrupt() {
        sender.interrupt()
        retiring.interrupt()
    }

    /// Holds the dispatcher after 401 or 403, until it is resumed or its settings change (Behaviour D7).
    func hold(_ cause: String) {
        isHeldByRefusal = true
        manual.set(ManualBarrier.Setting(isPaused: true, reason: cause))
    }

    private func releaseFromRefusal() {
        guard isHeldByRefusal else { return }
        isHeldByRefusal = false
        manual.set(ManualBarrier.Setting())
    }
}
