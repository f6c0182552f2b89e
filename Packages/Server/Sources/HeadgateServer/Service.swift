import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A running daemon: the gate with its store and dispatchers, and the sessions of the clients. It lives on the event
/// loop.
///
/// The service puts its parts together, and each part owns its state. Sessions and methods reach the parts through the
/// service.
final class Service {
    let scheduler: any Scheduler
    /// The event loop below the scheduler, or nil if the scheduler has none.
    let loop: EventLoop?
    let gate: Headgate
    let paths: DaemonPaths
    let log: Log
    let control: SettingsControl
    let sessions: SessionRegistry
    let collecting: ContextCollectors
    let tracking: EventTracker
    let statuses: AnnouncedStatuses
    let boards: Boards
    let programBoards: ProgramBoards
    let watches: Watches
    let workerGroups: WorkerGroups
    let clientFlushes = ClientFlushes()
    let clientBackups = ClientBackups()
    let decoder: MessageDecoder
    private(set) var isReady = false
    /// The calls that changed the service, and those that were refused for a missing right, by method.
    private(set) var operations = Operation.Counts()

    private let configuration: ServerConfiguration
    /// The methods, with the parts of this service that each family uses.
    private lazy var methods = MethodTable(families)
    private let senderContext: SenderContext
    private let store: ServiceStore
    private let started: Instant
    /// The wall clock's time at the start.
    let startedAt: Timestamp
    private let startWarnings: [String]
    private var listening: ListeningSockets?
    /// The events that the embedding program tracks itself.
    private(set) lazy var programEvents = ProgramEvents(service: self)
    private var network: MachineNetwork?
    /// Measures the free room on the data directory's disk. Nil without an event loop.
    private(set) var disk: DiskWatch?
    /// The subscriptions that write failures and losses to the log.
    private var logSubscriptions: [any Disposable] = []

    /// Opens the store and builds all parts except the listening socket, on an event loop.
    /// - Parameter scheduler: the source of time; nil for the loop's own. Tests pass a scheduler of their own.
    convenience init(
        loop: EventLoop, configuration: ServerConfiguration, loaded: LoadedSettings, scheduler: LoopScheduler? = nil
    ) throws(StartFault) {
        try self.init(
            scheduler: scheduler ?? LoopScheduler(loop: loop), loop: loop, configuration: configuration, loaded: loaded)
    }

    /// Opens the store and builds all parts except the listening socket, on any scheduler.
    /// - Parameters:
    ///   - loop: the event loop below the scheduler. Without a loop there is no socket, no network watch and no HTTP.
    ///     The caller then passes clients to ``accept(_:)`` and network changes to ``networkChanged(_:)``.
    ///   - groups: the bounds of a commit group.
    ///   - builtAt: the program's build date. An earlier wall time counts as not set (Behaviour P7).
    ///   - chance: returns random numbers from 0 to 1, for the jitter of delays and for event IDs.
    init(
        scheduler: any Scheduler, loop: EventLoop?, configuration: ServerConfiguration, loaded: LoadedSettings,
        groups: GroupBounds = GroupBounds(), builtAt: Timestamp = BuildDate.earliest,
        chance: @escaping () -> Double = { Double.random(in: 0...1) }
    ) throws(StartFault) {
        let settings = loaded.settings
        self.scheduler = scheduler
        self.loop = loop
        self.configuration = configuration
        paths = loaded.paths
        // With full durability, clients wait for the disk, and polling would only cost processor time (decision 56).
        loop?.isBusyPolling = settings.durability != .full
        log = Log(
            scheduler: scheduler,
            output: LogOutput(settings.logFormat, to: loop == nil ? .nowhere : configuration.logTarget))
        (started, startedAt) = (scheduler.now, scheduler.wall)
        store = ServiceStore(
            configuration.makeStore, settings: settings, paths: paths, scheduler: scheduler, loop: loop, log: log,
            keyring: loaded.keyring)
        let state = try store.open()
        startWarnings = state.warnings
        log.write(findingsOf: state)
        boards = Boards(scheduler: scheduler, log: log)
        gate = Headgate(
            scheduler: scheduler, store: store.store, state: consume state, limits: settings.store,
            environment: .ofService(boards: boards, groups: groups, builtAt: builtAt, chance: chance))
        programBoards = ProgramBoards(boards, gate: gate)
        workerGroups = WorkerGroups(gate: gate, log: log)
        sessions = SessionRegistry(scheduler: scheduler, limits: settings.limits)
        watches = Watches(WatchSources(gate: gate, sessions: sessions))
        statuses = AnnouncedStatuses(gate: gate)
        collecting = ContextCollectors(configuration.collectors, settings: settings.collectors, gate: gate, log: log)
        tracking = EventTracker(gate: gate, collecting: collecting, log: log, ids: UUIDv7(chance: chance))
        decoder = MessageDecoder(maxDepth: settings.limits.maxDepth)
        senderContext = SenderContext(
            scheduler: scheduler, loop: loop, dataDirectory: paths.dataDirectory, workerGroups: workerGroups)
        let installer = SettingsInstaller(
            gate: gate, boards: boards, workerGroups: workerGroups, senderContext: senderContext,
            configuration: configuration, log: log)
        control = SettingsControl(loaded, installer: installer)
        try start()
    }

    /// Applies the first settings and starts to watch the network and the disk.
    private func start() throws(StartFault) {
        logLosses()
        try control.start()
        network = loop.map { loop in
            MachineNetwork(scheduler: scheduler, loop: loop) { [weak self] in self?.networkChanged($0) }
        }
        followNetwork()
        disk = loop.map { DiskWatch(of: paths.dataDirectory, on: $0) }
        control.proceed(reporting: self)
    }

    /// Writes losses and failures of the gate to the log (Behaviour O4).
    private func logLosses() {
        logSubscriptions = [
            gate.barrierFailures.subscribe { [log] in
                log.write(.barrierFailed, ["barrier": .string($0.barrier.id), "cause": .string("\($0.error)")])
            },
            gate.transformations.failures.subscribe { [log] in
                log.write(
                    .transformationFailed,
                    ["transformation": .string($0.transformation), "cause": .string("\($0.error)")])
            },
            gate.counts.lost.subscribe { [log] in log.write($0) },
            gate.dispatcherStarts.subscribe { [log] start in
                log.write(
                    .dispatcherStarted,
                    [
                        "dispatcher": .string(start.id), "seq": .number(DataNumber(Int(start.firstSequenceNumber))),
                        "events": .number(DataNumber(start.events)),
                    ])
            },
            gate.finishedErasures.subscribe { [log] erasure in
                log.write(
                    .erasureFinished,
                    [
                        "events": .number(DataNumber(erasure.answer.events)),
                        "letters": .number(DataNumber(erasure.answer.deadLetters)),
                        "reason": erasure.reason.map { .string($0) } ?? .null,
                    ])
            },
            gate.writeFaults.subscribe { [log] in log.write(.storeUnwritten, ["cause": .string($0.message)]) },
        ]
    }

    var settings: Settings { control.inForce }

    /// One value of each family of methods, with the parts that its methods use.
    private var families: [any MethodFamily] {
        [
            ConnectionMethods(
                statuses: statuses, watches: watches, control: control, description: { OpenRPCDocument.json }),
            TrackMethods(tracking: tracking), FlushMethods(gate: gate, clientFlushes: clientFlushes),
            StatusMethods(gate: gate, sessions: sessions, control: control, encryption: encryption) { [unowned self] in
                ServiceState(uptime: uptime, isReady: isReady, warnings: warnings)
            },
            WatchMethods(watches: watches), BarrierMethods(gate: gate), DispatcherMethods(gate: gate, log: log),
            RewindMethods(gate: gate, log: log), WorkerMethods(gate: gate, workerGroups: workerGroups),
            QueueMethods(gate: gate), DeadLetterMethods(gate: gate, log: log), BoardMethods(boards: boards, gate: gate),
            ConfigMethods(control: control, paths: paths),
            MetricsMethods { [unowned self] in MetricsReading(self) },
            TraceMethods(
                gate: gate, control: control, quota: UserQuota(most: Limits.mostTracesPerUser, of: "traces")),
            ClientMethods(sessions: sessions, events: gate.events, scheduler: scheduler),
            BackupMethods(gate: gate, backups: clientBackups, log: log),
            EraseMethods(
                gate: gate, control: control, log: log,
                quota: UserQuota(most: Limits.mostErasuresPerUser, of: "erasures")),
            RekeyMethods(gate: gate, control: control, encryption: encryption, log: log),
        ]
    }

    private var encryption: ServiceEncryption {
        ServiceEncryption(settings: control.atStart.encryption, environment: configuration.environment)
    }

    var uptime: Duration { scheduler.now - started }

    /// The warnings of the start, the network, the disk, the settings, the boards and the gate, of queues without a
    /// dispatcher (Behaviour Q3), and of scopes of registered barriers that name no dispatcher yet (Behaviour B4).
    var warnings: [String] {
        let findings = startWarnings + (network?.warnings ?? []) + (disk?.warning.map { [$0] } ?? []) + control.warnings
        let orphans = gate.dispatchers.orphanSummaries.map {
            "dispatcher \($0.id) is no longer configured: its \($0.events) pending events are kept until \($0.until.text)"
        }
        let idle = gate.remoteBarriers.idleScopes.map {
            "barrier \($0.barrier): there is no dispatcher `\($0.dispatcher)`"
        }
        return findings + boards.warnings + gate.warnings.map(\.description) + orphans + idle
    }

    // MARK: Network

    /// Applies the network settings and starts to watch the machine's network (Behaviour B21).
    private func followNetwork() {
        network?.follow(settings.network, http: senderContext.http)
        gate.watchNetwork()
    }

    /// Reports a new state of the machine's network to the gate, and renews the context of each session's events.
    func networkChanged(_ state: NetworkState) {
        gate.network.value = state
        for session in sessions.all { session.collectContext() }
    }

    // MARK: Clients

    /// Opens the socket to clients, and starts a flush if `flush_on.start` is set (Behaviour F5).
    func listen() throws(StartFault) {
        if let loop {
            let listening = ListeningSockets(log: log) { [weak self] in self?.accept($0) }
            try listening.begin(
                at: paths.socket, inherited: configuration.opensSocket ? configuration.inherited : [], on: loop)
            self.listening = listening
        }
        do { try configuration.onStart(StartedServer(gate: gate, boards: programBoards)) } catch {
            throw StartFault("\(error)")
        }
        isReady = true
        if settings.flushOn.start { gate.flushAutomatically() }
    }

    /// Starts a session for a new connection, or refuses the connection if there are too many (Behaviour X2).
    func accept(_ connection: any SessionConnection) {
        let caller = Caller(connection.peer, access: settings.access, daemonUID: geteuid())
        let session = Session(
            number: sessions.nextNumber(), connection: connection, caller: caller, server: self)
        guard sessions.hasRoom(for: caller) else {
            sessions.counters.count(.rejectedConnections)
            return session.refuse(with: .tooManyConnections)
        }
        sessions.add(session)
        watches.clientsChanged()
        connection.begin(session)
    }

    // MARK: Settings

    /// Reads the configuration file again and logs the result.
    func reload() {
        switch control.reload() {
        case .changed(let paths):
            let list = paths.isEmpty ? "nothing" : paths.joined(separator: ", ")
            log.write(.settingsRead, ["changed": .string(list)])
        case .refused(let faults):
            for fault in faults { log.write(.settingsRefused, ["fault": .string("\(fault)")]) }
        }
    }

    // MARK: Stopping

    /// Stops in an orderly way (Behaviour D11). A second stop waits for the same end as the first.
    /// - Parameter then: called when everything is on the disk, or when the shutdown timeout has passed.
    func stop(then: @escaping (StopOutcome) -> Void) {
        if !gate.isStopping { beginStop() }
        gate.stop(within: settings.shutdownTimeout, flushing: settings.flushOn.shutdown, then: then)
    }

    /// Stops listening, notifies the clients, and releases all parts when the gate has stopped.
    private func beginStop() {
        isReady = false
        listening?.end()
        for session in sessions.all { session.announceClosing(because: .shuttingDown) }
        gate.stop(within: settings.shutdownTimeout, flushing: settings.flushOn.shutdown) { [weak self] in
            self?.report($0)
            self?.releaseParts()
        }
    }

    /// Logs the batches and the store that the stop left unfinished.
    private func report(_ outcome: StopOutcome) {
        if outcome.batchesLeft > 0 {
            log.write(.batchesCancelled, ["batches": .number(DataNumber(outcome.batchesLeft))])
        }
        if !outcome.isStoreClosed {
            log.write(.storeLeft)
        }
        log.end()
    }

    /// Releases all parts that live on the loop, before the loop ends.
    private func releaseParts() {
        boards.close()
        for session in sessions.all {
            session.answerWaits(with: RPCError(.shuttingDown))
            session.connection.closeAfterFlush()
        }
        network?.close()
        control.close()
        senderContext.close()
    }
}

extension Service: SessionServer {
    var turns: UserTurns { sessions.turns }
    var limits: Limits { settings.limits }
    var access: AccessSettings { settings.access }

    /// Runs a request that is not on the hot path.
    func run(_ method: JSONView, _ call: Call) throws(RPCError) {
        let method = try MethodTable.method(name(of: method), for: call.session.caller) { [self] in
            refused($0, to: call.session)
        }
        if let operation = Operation(method, call.params) {
            call.session.spend(answer: TurnShare.operation * TurnShare.answerBytes)
            call.reply.onEnd = { [self, session = call.session] in ended(operation, of: session, $0) }
        }
        try methods.run(method, call)
    }

    /// Returns the name of a method, or the beginning of a name that is longer than any method's. A look-up of a
    /// megabyte would take long (Behaviour X3).
    private func name(of method: JSONView) -> String {
        if method.raw.count <= Service.longestMethodName { return method.string ?? "" }
        return String(decoding: method.raw.dropFirst().prefix(Service.longestMethodName), as: UTF8.self)
    }

    /// The most bytes of a method's name, with quotes and escapes.
    private static let longestMethodName = 256

    /// Counts and logs a call that a client has no right to (Behaviour X7).
    private func refused(_ method: Method, to session: Session) {
        operations.countRefused(method.name.description)
        let caller = session.caller
        log.write(
            .callsRefused,
            [
                "client": .string(caller.client ?? session.name),
                "uid": .number(DataNumber(Int(caller.credentials.uid))),
                "pid": .number(DataNumber(Int(caller.credentials.pid))),
                "method": .string(method.name.description), "group": .string(method.group.rawValue),
            ])
    }

    /// Counts and logs a call that changed the service (Behaviour X7).
    private func ended(_ operation: Operation, of session: Session, _ outcome: Operation.Outcome) {
        guard outcome.mayHaveChanged else { return }
        if !operation.isDryRun { operations.countDone(operation.method) }
        log.write(.operated, operation.members(session.caller, session: session.name, outcome))
    }

    /// Cancels the activations of a client that has disconnected. Data that it sent before may still be read.
    func askingClientLeft(_ session: Session) {
        boards.clientLeft(session.number)
    }

    /// Ends the boards, the subscriptions and the open peer requests of a client that sends nothing more. The daemon
    /// may still send to the client (Behaviour A1, K3).
    func servingClientLeft(_ session: Session) {
        boards.servingClientLeft(session.number)
        workerGroups.subscriberLeft(session.number)
        session.endPeerRequests()
    }

    /// Ends the watches, barriers, subscriptions or served boards that a session has by a right which new settings
    /// revoke (Behaviour X1).
    ///
    /// The session gets no new runs and batches. It may finish those that it has, so that a change of the settings
    /// resends no event (Behaviour S3).
    /// - Returns: true if the session had anything by this right.
    func withdraw(_ group: MethodGroup, from session: Session) -> Bool {
        switch group {
        case .track, .read, .configure: return false
        case .observe: return watches.sessionEnded(session)
        case .control: return gate.remoteBarriers.ownerLeft(session.number)
        case .serve:
            let worked = workerGroups.dismiss(session.number)
            let served = boards.dismiss(session.number)
            return worked || served
        }
    }

    func count(_ counter: ConnectionCounter) {
        sessions.counters.count(counter)
    }

    func outputWritten() {
        sessions.watchSlowReaders()
    }

    func outputDrained(_ session: Session) {
        watches.drained(session)
        workerGroups.drained(session.number)
    }

    func dismissExcludedWorker(_ session: Session) -> Bool {
        workerGroups.dismissExcluded(session)
    }

    func ended(_ session: Session) {
        sessions.remove(session)
        watches.sessionEnded(session)
        watches.clientsChanged()
        statuses.sessionEnded(session.number)
        clientBackups.sessionEnded(session.number)
        askingClientLeft(session)
        gate.remoteBarriers.ownerLeft(session.number)
        servingClientLeft(session)
    }
}

extension Service: SettingsObserver {
    func settingsChanged(from old: Settings, to new: Settings) {
        log.output.format = new.logFormat
        collecting.change(to: new.collectors)
        sessions.settingsChanged(from: old, to: new)
        decoder.maxDepth = new.limits.maxDepth
        if new.network != old.network { followNetwork() }
    }
}

extension GateEnvironment {
    /// The parts outside Core that the gate needs: libraries and the boards.
    fileprivate static func ofService(
        boards: Boards, groups: GroupBounds, builtAt: Timestamp, chance: @escaping () -> Double
    ) -> GateEnvironment {
        let scanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
        return GateEnvironment(
            chance: chance, timeZone: ZoneInfo().rules, patternCompiler: RE2Compiler(),
            readObject: { bytes in (try? scanner.scan(bytes)).flatMap { DataObject(dataItem: $0.item) } },
            groups: groups, builtAt: builtAt, boardActivator: boards)
    }
}
