import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A running daemon: the gate with its store and dispatchers behind it, and the sessions of its clients before it. It
/// lives on the event loop.
///
/// What it does is done by its parts, each with its own state; it puts them together, and is what sessions and methods
/// know of the daemon.
final class Service {
    let scheduler: any Scheduler
    /// The event loop behind the scheduler, if there is one.
    let loop: EventLoop?
    let gate: Headgate
    let places: Places
    let log: Log
    let control: SettingsControl
    let sessions: SessionRegistry
    let collecting: Collecting
    let tracking: Tracking
    let statuses: AnnouncedStatuses
    let boards: Boards
    let programBoards: ProgramBoards
    let watches: Watches
    let workforces: Workforces
    let clientFlushes = ClientFlushes()
    let traceQuota = UserQuota(most: Limits.mostTracesPerUser, of: "traces")
    let decoder: MessageDecoder
    private(set) var isReady = false

    private let configuration: ServerConfiguration
    private let methods = MethodTable()
    private let surroundings: SenderSurroundings
    private let store: ServiceStore
    private let started: Instant
    /// When it was started, by the wall clock of that moment.
    let startedAt: Timestamp
    private let startWarnings: [String]
    private var listening: Listening?
    /// The events of the program that embeds the server.
    private(set) lazy var programEvents = ProgramEvents(service: self)
    private var network: MachineNetwork?
    /// The room on the data directory's disk. Nil without a loop.
    private(set) var disk: DiskWatch?
    /// What the log is told of.
    private var logged: [any Disposable] = []

    /// Opens the store and builds everything behind the socket.
    /// - Parameter scheduler: where time comes from; the loop's, unless a test brings its own.
    convenience init(
        loop: EventLoop, configuration: ServerConfiguration, loaded: LoadedSettings, scheduler: LoopScheduler? = nil
    ) throws(StartFault) {
        try self.init(
            scheduler: scheduler ?? LoopScheduler(loop: loop), loop: loop, configuration: configuration, loaded: loaded)
    }

    /// Opens the store and builds everything behind the socket, on any scheduler.
    /// - Parameters:
    ///   - loop: the event loop behind the scheduler. Without one there is no socket, nobody watches the machine's network,
    ///     and nothing speaks HTTP: clients and network are brought by ``accept(_:)`` and ``networkChanged(_:)``.
    ///   - groups: how large groups of events become.
    ///   - builtAt: when the program was built: an earlier wall time counts as not set (Behaviour P7).
    ///   - chance: gives numbers from 0 to 1, for the length of waits.
    init(
        scheduler: any Scheduler, loop: EventLoop?, configuration: ServerConfiguration, loaded: LoadedSettings,
        groups: GroupBounds = GroupBounds(), builtAt: Timestamp = BuildDate.earliest,
        chance: @escaping () -> Double = { Double.random(in: 0...1) }
    ) throws(StartFault) {
        let settings = loaded.settings
        self.scheduler = scheduler
        self.loop = loop
        self.configuration = configuration
        places = loaded.places
        // Who waits for the disk sleeps for that, and more for what else there is (decision 56).
        loop?.isBusyPolling = settings.durability != .full
        log = Log(
            scheduler: scheduler,
            output: LogOutput(settings.logFormat, to: loop == nil ? .nowhere : configuration.logTarget))
        (started, startedAt) = (scheduler.now, scheduler.wall)
        store = ServiceStore(
            configuration.makeStore, settings: settings, places: places, scheduler: scheduler, loop: loop, log: log)
        let state = try store.open()
        startWarnings = state.warnings
        for note in state.notes { log.tell(.storeNoted, ["note": .string(note)]) }
        boards = Boards(scheduler: scheduler, log: log)
        gate = Headgate(
            scheduler: scheduler, store: store.store, state: consume state, limits: settings.store,
            surroundings: .ofService(boards: boards, groups: groups, builtAt: builtAt, chance: chance))
        programBoards = ProgramBoards(boards, gate: gate)
        workforces = Workforces(gate: gate, log: log)
        sessions = SessionRegistry(scheduler: scheduler, limits: settings.limits)
        watches = Watches(WatchSources(gate: gate, sessions: sessions))
        statuses = AnnouncedStatuses(gate: gate)
        collecting = Collecting(configuration.collectors, settings: settings.collectors, gate: gate, log: log)
        tracking = Tracking(gate: gate, collecting: collecting, log: log, ids: UUIDv7(chance: chance))
        decoder = MessageDecoder(maxDepth: settings.limits.maxDepth)
        surroundings = SenderSurroundings(
            scheduler: scheduler, loop: loop, dataDirectory: places.dataDirectory, workforces: workforces)
        let installer = SettingsInstaller(
            gate: gate, boards: boards, workforces: workforces, surroundings: surroundings,
            configuration: configuration, log: log)
        control = SettingsControl(loaded, installer: installer)
        try start()
    }

    /// Has the first settings take effect.
    private func start() throws(StartFault) {
        followLosses()
        try control.start()
        network = loop.map { loop in
            MachineNetwork(scheduler: scheduler, loop: loop) { [weak self] in self?.networkChanged($0) }
        }
        followNetwork()
        disk = loop.map { DiskWatch(of: places.dataDirectory, on: $0) }
        control.goOn(telling: self)
    }

    /// Has the log told of what is lost, and of what fails (Behaviour O4).
    private func followLosses() {
        logged = [
            gate.barrierFailures.subscribe { [log] in
                log.tell(.barrierFailed, ["barrier": .string($0.barrier.id), "cause": .string("\($0.error)")])
            },
            gate.transformationFailures.subscribe { [log] in
                log.tell(
                    .transformationFailed,
                    ["transformation": .string($0.transformation), "cause": .string("\($0.error)")])
            },
            gate.counts.lost.subscribe { [log] in log.tell($0) },
            gate.writeFaults.subscribe { [log] in log.tell(.storeUnwritten, ["cause": .string($0.message)]) },
        ]
    }

    var settings: Settings { control.inForce }

    var uptime: Duration { scheduler.now - started }

    /// What people should know of the start, the settings and the boards.
    var warnings: [String] {
        startWarnings + (network?.warnings ?? []) + (disk?.warning.map { [$0] } ?? []) + control.warnings
            + boards.warnings + gate.warnings.map(\.description)
    }

    // MARK: Network

    /// Follows the machine's network (Behaviour B21).
    private func followNetwork() {
        network?.follow(settings.network, http: surroundings.http)
        gate.watchNetwork()
    }

    /// The machine's network is in another state.
    func networkChanged(_ state: NetworkState) {
        gate.network.value = state
        for session in sessions.all { session.collectContext() }
    }

    // MARK: Clients

    /// Lets clients in, and flushes if the settings ask for that (Behaviour F5).
    func listen() throws(StartFault) {
        if let loop {
            let listening = Listening(log: log) { [weak self] in self?.accept($0) }
            try listening.begin(
                at: places.socket, inherited: configuration.opensSocket ? configuration.inherited : [], on: loop)
            self.listening = listening
        }
        do { try configuration.onStart(StartedServer(gate: gate, boards: programBoards)) } catch {
            throw StartFault("\(error)")
        }
        isReady = true
        if settings.flushOn.start { gate.flushAutomatically() }
    }

    /// Takes on a client, unless there are too many (Behaviour X2).
    func accept(_ connection: any SessionConnection) {
        let caller = Caller(connection.peer, access: settings.access, daemonUID: geteuid())
        let session = Session(
            number: sessions.nextNumber(), connection: connection, caller: caller, service: self)
        guard sessions.hasRoom(for: caller.credentials.uid) else {
            sessions.counters.count(.rejectedConnections)
            session.sendError(RPCError(.limit, "too many connections"))
            return connection.closeAfterFlush()
        }
        sessions.add(session)
        watches.clientsChanged()
        connection.begin(session)
    }

    /// Carries out a request that is not on the hot path.
    func run(_ method: JSONView, _ call: Call) throws(RPCError) {
        let method = try methods.method(method.string ?? "", for: call.session.caller)
        try method.run(self, call)
    }

    /// A client is gone, though what it sent may still be read: it wants nothing any more of what it asked for.
    func askerLeft(_ session: Session) {
        boards.clientLeft(session.number)
    }

    /// Nothing comes from a client any more, though it may still be told something: it serves no boards, and takes no
    /// batches (Behaviour A1, K3).
    func providerLeft(_ session: Session) {
        boards.providerLeft(session.number)
        workforces.subscriberLeft(session.number)
        session.endPeerRequests()
    }

    /// Ends what a session holds by a right that the settings take away (Behaviour X1): nothing new is told or given to it.
    /// What it has in hand it may finish, so that no event is sent again because of a change of the settings
    /// (Behaviour S3).
    /// - Returns: whether it held anything.
    func withdraw(_ group: MethodGroup, from session: Session) -> Bool {
        switch group {
        case .track: return false
        case .observe: return watches.sessionEnded(session)
        case .control: return gate.remoteBarriers.ownerLeft(session.number)
        case .serve:
            let worked = workforces.dismiss(session.number)
            let served = boards.dismiss(session.number)
            return worked || served
        }
    }

    func ended(_ session: Session) {
        sessions.remove(session)
        watches.sessionEnded(session)
        watches.clientsChanged()
        statuses.sessionEnded(session.number)
        askerLeft(session)
        gate.remoteBarriers.ownerLeft(session.number)
        providerLeft(session)
    }

    // MARK: Settings

    /// Reads the configuration file again, and says in the log what came of it.
    func reload() {
        switch control.reload() {
        case .changed(let paths):
            let list = paths.isEmpty ? "nothing" : paths.joined(separator: ", ")
            log.tell(.settingsRead, ["changed": .string(list)])
        case .refused(let faults):
            for fault in faults { log.tell(.settingsRefused, ["fault": .string("\(fault)")]) }
        }
    }

    // MARK: Stopping

    /// Stops in an orderly way (Behaviour D11); `then` is called when all is written down, or could not be in time. Who
    /// stops it once more waits for the same end.
    func stop(then: @escaping (StopOutcome) -> Void) {
        if !gate.isStopping { beginStop() }
        gate.stop(within: settings.shutdownTimeout, flushing: settings.flushOn.shutdown, then: then)
    }

    /// Takes no more clients, and lets go of everything when the gate has stopped.
    private func beginStop() {
        isReady = false
        listening?.end()
        for session in sessions.all { session.announceClosing(because: .shuttingDown) }
        gate.stop(within: settings.shutdownTimeout, flushing: settings.flushOn.shutdown) { [weak self] in
            self?.tell($0)
            self?.letGo()
        }
    }

    /// Says what was left, if anything was.
    private func tell(_ outcome: StopOutcome) {
        if outcome.batchesLeft > 0 {
            log.tell(.batchesGivenUp, ["batches": .number(DataNumber(outcome.batchesLeft))])
        }
        if !outcome.isStoreClosed {
            log.tell(.storeLeft)
        }
        log.end()
    }

    /// Lets go of all that lives on the loop, before that ends.
    private func letGo() {
        boards.close()
        for session in sessions.all {
            session.answerWaits(with: RPCError(.shuttingDown))
            session.connection.closeAfterFlush()
        }
        network?.close()
        control.close()
        surroundings.close()
    }
}

extension Service: SettingsFollower {
    func settingsChanged(from old: Settings, to new: Settings) {
        log.output.format = new.logFormat
        collecting.change(to: new.collectors)
        sessions.settingsChanged(from: old, to: new)
        decoder.maxDepth = new.limits.maxDepth
        if new.network != old.network { followNetwork() }
    }
}

extension GateSurroundings {
    /// What the gate has of libraries, and of the service around it.
    fileprivate static func ofService(
        boards: Boards, groups: GroupBounds, builtAt: Timestamp, chance: @escaping () -> Double
    ) -> GateSurroundings {
        let scanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
        return GateSurroundings(
            chance: chance, timeZone: ZoneInfo().rules, patternCompiler: RE2Compiler(),
            readObject: { bytes in (try? scanner.scan(bytes)).flatMap { DataObject(dataItem: $0.item) } },
            groups: groups, builtAt: builtAt, boardActivator: boards)
    }
}
