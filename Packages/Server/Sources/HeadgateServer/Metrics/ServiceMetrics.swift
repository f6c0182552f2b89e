import HeadgateCore

extension MetricsReading {
    /// Reads all values from the service.
    init(_ service: Service) {
        let gate = service.gate
        events = gate.counts.all
        connections = service.sessions.counters
        operations = service.operations
        users = gate.events.userUses
        dispatchers = gate.dispatcherSummaries
        measures = gate.dispatcherMeasures
        orphans = gate.dispatchers.orphanSummaries
        blockedPairs = gate.closedTimes
        let store = gate.events.store
        self.store = StoreReading(
            kind: store.kind, durability: service.control.atStart.durability.rawValue, live: gate.stored,
            limits: service.settings.store, diskBytes: store.diskBytes, deadLetterTally: gate.deadLetters.used,
            rememberedIDs: gate.events.remembered.ids, oldest: gate.oldestAge,
            retained: store.retained.tally, oldestRetained: gate.retainedAge,
            isErasing: gate.erasure.map { !$0.isDryRun } ?? false)
        acknowledging = gate.events.acknowledging
        syncing = store.syncing
        clients = service.sessions.count
        warnings = service.warnings.count
        let control = service.control
        layers = SettingsLayer.allCases.filter { $0 != .remote || control.inForce.remote != nil }
            .map { ($0, control.isWhole($0)) }
        settingsWaiting = control.waitingForStart.count
        droppedLogLines = service.log.output.dropped
        isReady = service.isReady
        isConnected = gate.network.value.kind != nil
        started = service.startedAt
        process = ProcessUsage()
        now = service.scheduler.now
        wall = service.scheduler.wall
        disk = service.disk?.room
    }
}
