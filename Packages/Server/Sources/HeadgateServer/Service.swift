import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A running daemon: the gate with its store and dispatchers behind it, and the sessions of its clients before it. It
/// lives on the event loop.
final class Service {
    let worker: LoopWorker
    let gate: Headgate
    /// What is in force.
    var settings: Settings
    let control: SettingsControl
    let places: Places
    private(set) var decoder: MessageDecoder
    let tracking: Tracking
    let collecting: Collecting
    let statuses: AnnouncedStatuses
    let boards: BoardDesk
    let flushQuota = FlushQuota()
    private(set) lazy var programBoards = ProgramBoards(desk: boards, gate: gate)
    private(set) lazy var watches = Watches(service: self)
    let workforces: Workforces
    let log = Log()
    var sessions = SessionRegistry()
    var counters = ConnectionCounters()
    /// What people should know about the start.
    var warnings: [String] = []
    /// What people should know about the settings in force.
    var settingsWarnings: [String] = []
    var remoteSettings: RemoteSettings?
    private(set) var isReady = false

    private let methods = MethodTable()
    let senders: SenderSurroundings
    let configuration: ServerConfiguration
    private let store: ServiceStore
    private var network: NetworkMonitor?
    private let started: Instant
    private var listeners: [UnixListener] = []
    private var slowReaders: (any Disposable)?
    private var barrierFailures: (any Disposable)?

    /// Opens the store and builds everything behind the socket.
    /// - Parameter worker: where time comes from; the loop's, unless a test brings its own.
    init(
        loop: EventLoop, configuration: ServerConfiguration, loaded: LoadedSettings, worker: LoopWorker? = nil
    ) throws(StartFault) {
        let worker = worker ?? LoopWorker(loop: loop)
        self.configuration = configuration
        places = loaded.places
        settings = loaded.settings
        self.worker = worker
        started = worker.now
        store = ServiceStore(configuration.makeStore, settings: settings, places: places, worker: worker)
        let state = try store.open()
        boards = BoardDesk(worker: worker, log: log)
        gate = Headgate(
            worker: worker, store: store.store, state: state, limits: settings.store,
            surroundings: Service.surroundings(boards))
        workforces = Workforces(gate: gate)
        senders = SenderSurroundings(
            worker: worker, dataDirectory: places.dataDirectory, workforces: workforces)
        decoder = MessageDecoder(maxDepth: settings.limits.maxDepth)
        collecting = Collecting(configuration.collectors, settings: settings.collectors, gate: gate, log: log)
        tracking = Tracking(gate: gate, collecting: collecting)
        statuses = AnnouncedStatuses(gate: gate)
        // They are counted by each dispatcher that misses them.
        store.onQuarantine = { [log] in log.error("the store is damaged: \($0) events are quarantined") }
        warnings = state.warnings
        settingsWarnings = loaded.reading.warnings.map(\.description)
        control = SettingsControl(configuration, layers: loaded.layers)
        control.apply = { [unowned self] reading throws(StartFault) in try change(to: reading) }
        barrierFailures = gate.barrierFailures.subscribe { [log] in
            log.warning("barrier \($0.barrier.id): \($0.error)")
        }
        try addProgramsOwn(configuration)
        let made = try prepare(settings, insteadOf: Settings())
        if let refusal = putInForce(settings, insteadOf: Settings(), made).first { throw refusal }
        try addUnnamedBarriers(configuration)
        watchNetwork()
        restoreKeptSettings()
        followRemoteSettings()
    }

    /// The settings by layer.
    var layers: SettingsLayers { control.layers }

    var uptime: Duration { worker.now - started }

    /// Makes the decoder anew, for another depth.
    func makeDecoder() {
        decoder = MessageDecoder(maxDepth: settings.limits.maxDepth)
    }

    // MARK: Network

    /// Follows the machine's network (Behaviour B21). Where the kernel does not tell, dispatchers are not held for it.
    func watchNetwork() {
        network = nil
        network = NetworkMonitor(settings.network, worker: worker, http: senders.http) { [weak self] in
            self?.networkChanged($0)
        }
        gate.watchNetwork()
        guard network == nil else { return }
        let warning = "the network cannot be watched here; it counts as connected"
        if !warnings.contains(warning) { warnings.append(warning) }
        networkChanged(.connected(.other))
    }

    private func networkChanged(_ state: NetworkState) {
        gate.network.value = state
        for session in sessions.all { session.collectContext() }
    }

    // MARK: Listening

    /// Opens the socket, or takes over those that a service manager opened, and flushes if the settings ask for that
    /// (Behaviour F5).
    func listen() throws(StartFault) {
        do throws(TransportError) {
            for descriptor in configuration.inherited { listeners.append(try listener(fileDescriptor: descriptor)) }
            if listeners.isEmpty { listeners.append(try listener()) }
        } catch {
            throw StartFault("\(error)")
        }
        for listener in listeners {
            listener.onError = { [log] in log.warning("a connection could not be taken: \($0)") }
        }
        do { try configuration.onStart(StartedServer(gate: gate, boards: programBoards)) } catch {
            throw StartFault("\(error)")
        }
        isReady = true
        if settings.flushOn.start { _ = gate.flush(timeout: FlushMethods.usualTimeout) { _ in } }
    }

    private func listener() throws(TransportError) -> UnixListener {
        try UnixListener(path: places.socket, on: worker.loop) { [weak self] in self?.accept($0) }
    }

    private func listener(fileDescriptor: Int32) throws(TransportError) -> UnixListener {
        try UnixListener(fileDescriptor: fileDescriptor, on: worker.loop) { [weak self] in self?.accept($0) }
    }

    /// Takes on a client, unless there are too many (Behaviour X2).
    func accept(_ connection: Connection) {
        let caller = Caller(connection.peer, access: settings.access, daemonUID: geteuid())
        let session = Session(
            number: sessions.nextNumber(), connection: connection, caller: caller, service: self)
        guard sessions.hasRoom(for: caller.credentials.uid, limits: settings.limits) else {
            counters.rejectedConnections += 1
            session.sendError(RPCError(.limit, "too many connections"))
            return connection.closeAfterFlush()
        }
        sessions.add(session)
        watches.clientsChanged()
        connection.start(session)
    }

    /// A client is gone, though what it sent may still be read: it wants nothing any more of what it asked for.
    func askerLeft(_ session: Session) {
        boards.clientLeft(session.number)
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

    /// Nothing comes from a client any more, though it may still be told something: it serves no boards, and takes no
    /// batches (Behaviour A1, K3).
    func providerLeft(_ session: Session) {
        boards.providerLeft(session.number)
        workforces.subscriberLeft(session.number)
        session.endPeerRequests()
    }

    // MARK: Calls

    /// Carries out a request that is not on the hot path.
    func call(_ method: JSONView, params: JSONView?, session: Session, reply: Reply) {
        do throws(RPCError) {
            let name = method.string ?? ""
            let method = try methods.method(name, for: session.caller)
            try method.run(self, Call(session: session, params: params, reply: reply))
            session.hasSpoken = true
        } catch {
            reply.fail(error)
        }
    }

    // MARK: Slow readers

    /// Looks now and then whether readers take their answers, as long as there are any that do not (Behaviour X2).
    func watchSlowReaders() {
        guard slowReaders == nil else { return }
        let look = min(settings.limits.slowReaderTimeout, .seconds(1))
        slowReaders = worker.schedule(at: worker.now + look) { [weak self] in
            self?.slowReaders = nil
            self?.closeSlowReaders()
        }
    }

    private func closeSlowReaders() {
        let oldest = worker.now.nanoseconds - settings.limits.slowReaderTimeout.wholeNanoseconds
        let waiting = sessions.all.filter { $0.connection.outputBytes > 0 }
        for session in waiting where session.connection.lastOutputProgress <= oldest {
            counters.slowReadersClosed += 1
            session.connection.close()
        }
        if !waiting.isEmpty { watchSlowReaders() }
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
        for listener in listeners { listener.close() }
        for session in sessions.all { session.announceClosing(because: .shuttingDown) }
        gate.stop(within: settings.shutdownTimeout, flushing: settings.flushOn.shutdown) { [weak self] in
            self?.tell($0)
            self?.letGo()
        }
    }

    /// Says what was left, if anything was.
    private func tell(_ outcome: StopOutcome) {
        if outcome.batchesLeft > 0 {
            log.warning("\(outcome.batchesLeft) batches on their way were given up; their events are sent again")
        }
        if !outcome.isStoreClosed {
            log.error("the event store did not answer in time and is left; what was acknowledged is on disk")
        }
    }

    /// Lets go of all that lives on the loop, before that ends.
    private func letGo() {
        boards.close()
        for session in sessions.all { session.connection.closeAfterFlush() }
        network = nil
        remoteSettings = nil
        senders.close()
    }
}
