import HeadgateData
import HeadgateSeeds

@testable import HeadgateCore
@testable import HeadgateServer
@testable import HeadgateStore

/// One history: a daemon that starts, crashes, and starts again with the contents of the disk, and all its
/// surroundings, on one thread and without a real clock. Everything except the code under test is simulated and random.
final class World {
    let record: Record
    let scheduler = SimulatedScheduler()
    let ledger: Ledger
    let destinations: [SimulatedDestination]
    let workerWitness: WorkerWitness
    private let streamWitness: StreamWitness?
    private(set) var service: Service?
    /// The store of the daemon that runs or starts.
    private(set) var store: WitnessedStore
    private let medium = SimulatedMedium()
    private let scene: Scene
    private let fleet: ClientFleet
    let file: ConfigurationFile?
    private var actors: [any Actor] = []
    private var fillers: Fillers?
    /// The end of the last life, and its expired and evicted events by dispatcher.
    private var lastEnd = LifeEnd.stopped
    private var lost: [String: Int] = [:]
    /// True if the disk had no failure while the last daemon stopped.
    private var wasWell = true
    private var isResting = false

    init(seed: Seed) {
        let record = Record(seed: seed)
        let scene = Scene(record)
        let ledger = Ledger(record, Ages(record, scheduler, mostAge: scene.mostAge), scene.rules)
        (self.record, self.ledger, self.scene) = (record, ledger, scene)
        destinations = scene.terms.keys.sorted().map { [scheduler] in
            SimulatedDestination(
                ledger.queue($0), scene.terms[$0] ?? .init(dispatchLimit: 1, inFlight: 1), scene.patience, record,
                scheduler)
        }
        ledger.orphans = Orphans(
            record, scheduler, ledger.ages, retention: scene.orphanRetention, makesRoom: scene.makesRoom)
        file = destinations.first { $0.id == ConfigurationFile.queue }.map { [ledger] in
            ConfigurationFile(record, scene, $0, ledger.orphans)
        }
        for destination in destinations {
            destination.inspect = { [ledger, id = destination.id] in
                ledger.rules?.sent($0, to: id)
                ledger.corrupt?.sent($0, to: id)
            }
        }
        ledger.corrupt = scene.corrupt.map { Corruption($0, record) }
        ledger.corrupt?.isNeeded = { [unowned ledger] number in
            ledger.queues.values.contains { $0.waiting.contains(number) }
        }
        ledger.deadLetters.mayCorrupt = scene.corrupt != nil
        record.isLax = { [weak ledger] in ledger?.corrupt?.isWild == true }
        workerWitness = WorkerWitness(ledger.queue("w"), scene.workTerms, record, scheduler)
        streamWitness = scene.streamTerms.map { [scheduler] in StreamWitness(ledger.queue("s"), $0, record, scheduler) }
        let disk = SimulatedDisk(medium, record)
        store = WitnessedStore(disk, scene, scheduler, ledger) { _, _, _ in }
        fleet = ClientFleet(record, scheduler, ledger, hasFloods: true)
        let barrierClients = BarrierClients(
            record, fleet, destinations, workerWitness, isDiskSound: scene.corrupt == nil)
        let nature = Nature(record, scheduler, ledger.ages, destinations)
        // A daemon that retries to write dead letters without room delays nothing else, so it does not count as busy.
        nature.isDiskBusy = { [unowned self] in !store.executor.isIdle && fillers?.lacksRoomForDeadLetters != true }
        let people = Operator(record, scheduler, fleet, destinations, ledger, scene, file)
        actors = [
            fleet, Destinations(record, destinations), people,
            nature, BoardClients(record, scheduler, fleet, scene.boardTerms), barrierClients,
            Workers(record, scheduler, fleet, workerWitness), Trouble(self),
            Ambush(self) { [unowned people] in people.haveOneBack() },
        ]
        if let streamWitness {
            streamWitness.closing = { [unowned barrierClients] in barrierClients.closing("s") }
            actors.append(Streams(record, streamWitness))
        }
        if let key = scene.key, let destination = destinations.first(where: { $0.id == key.queue }) {
            actors.append(KeyClients(record, scheduler, fleet, destination, KeyAccount(key, record, scheduler)))
        }
        if scene.hasPrograms { actors.append(Programs(record, scheduler, fleet, ledger)) }
        if record.oneIn(2) { actors.append(WatchClients(record, scheduler, fleet, ledger, nature)) }
        if scene.hasSlowSyncs { actors.append(SlowSyncs(self, fleet, destinations)) }
        if let room = scene.diskRoom {
            medium.room = room.bytes
            let fillers = Fillers(self)
            actors.append(fillers)
            self.fillers = fillers
        }
    }

    // MARK: The history

    /// Runs the history.
    /// - Parameter skipped: Steps to leave out.
    func run(steps: Int, skipping skipped: Set<Int> = []) throws {
        record.note("\(scene.settings)")
        begin()
        for number in 0..<steps where !skipped.contains(number) {
            record.beginStep(number)
            step()
            if let violation = record.violation { throw violation }
        }
        record.beginStep(steps)
        rest()
        end()
        if let violation = record.violation { throw violation }
    }

    private func step() {
        let acts = actors.flatMap(\.acts)
        var index = record.number(0...acts.reduce(0) { $0 + $1.weight } - 1)
        for act in acts {
            index -= act.weight
            if index < 0 {
                act.body()
                break
            }
        }
        if !record.oneIn(3) { endTurn() }
        reviveIfDead()
    }

    /// Damages something while the daemon runs.
    func corrupt() {
        ledger.corrupt?.strike(medium, inLife: true)
        fleet.forgetIDs()
        for destination in destinations { destination.forgetIDs() }
    }

    /// Returns a client without outstanding answers.
    func idle() -> SimulatedClient? { fleet.idle() }

    /// Ends the loop's turn, and gives the store's thread a turn.
    func endTurn() {
        scheduler.endTurn()
        if !record.oneIn(3) { store.executor.takeTurn() }
        fleet.read()
        checkAges()
        guard let service else { return }
        if service.gate.events.isGroupFull { record.count(.groupFull) }
        let backlog = service.gate.events.backlog
        ledger.orphans?.checkForgotten { backlog.unsettled(of: $0).events }
        guard store.executor.isIdle else { return }
        ledger.orphans?.check { [destinations] id in destinations.contains { $0.id == id && $0.hasWaiting } }
    }

    private func checkAges() {
        guard let service, scene.mostAge != nil else { return }
        ledger.ages.check(service)
        for summary in service.gate.dispatcherSummaries { ledger.queue(summary.id).checkAges(summary.counters) }
    }

    // MARK: Lives

    /// Starts a daemon with the contents of the disk. If disk failures prevent that, the last attempt has none.
    private func begin() {
        for tries in 1...World.mostStarts where service == nil {
            guard let started = attempt(isWell: tries == World.mostStarts) else {
                record.count(.startFailed)
                record.note("the start fails")
                lose(store.disk.isDown && record.oneIn(2) ? .powerless : .killed)
                file?.startFailed()
                continue
            }
            service = started
            ledger.orphans?.lifeBegan(with: Set(started.gate.dispatcherSummaries.map(\.id)))
            for actor in actors { actor.lifeBegan(started) }
        }
        if service == nil, ledger.corrupt?.isWild == true { return beginAfresh() }
        record.insist(service != nil, "the daemon does not start")
    }

    /// The maximum number of start attempts. The last one has no failures.
    private static let mostStarts = 20

    private func attempt(isWell: Bool) -> Service? {
        do {
            return try start(isWell: isWell)
        } catch {
            // Damage that SQLite reports is set aside and must not prevent a start.
            let isSeen = ["malformed", "not a database", "damaged"].contains { "\(error)".contains($0) }
            record.insist(
                !isSeen || store.disk.isDown || !store.disk.isWell, "damage keeps a daemon from starting: \(error)")
            return nil
        }
    }

    /// Starts with an empty store. A damaged store that looks as if another program had changed it requires an
    /// operator.
    private func beginAfresh() {
        record.note("an operator removes the store")
        for path in medium.names.keys.sorted() { medium.name(path, nil) }
        service = try? start(isWell: true)
        record.insist(service != nil, "the daemon does not start with an empty store")
        if let service { for actor in actors { actor.lifeBegan(service) } }
    }

    /// Starts a daemon.
    /// - Parameter isWell: True if no failure may happen during the start.
    func start(isWell: Bool = false) throws -> Service {
        let disk = SimulatedDisk(medium, record)
        let isLax = if case .powerless = lastEnd { scene.durability == .normal } else { false }
        store = WitnessedStore(disk, scene, scheduler, ledger) {
            [unowned self] state, found, deadLetters in
            ledger.reopened(
                state, found, deadLetters, lost: lost, after: lastEnd, isLax: isLax || !wasWell && lastEnd == .stopped)
            ledger.ages.opened(state, isKept: lastEnd == .stopped && wasWell)
            (lost, lastEnd) = ([:], .killed)
        }
        if !isWell { trouble(disk) }
        let options = DaemonOptions(
            configuration: file == nil ? nil : ConfigurationFile.path, socket: "/nowhere/socket",
            dataDirectory: "/nowhere")
        var configuration = ServerConfiguration(options: options, environment: [:], userID: 0)
        configuration.settings = scene.settings
        if let file { (configuration.readFile, configuration.readFileAgain) = (file.read, file.read) }
        configuration.makeStore = { [store] _ in store }
        configuration.settingsDisk = disk
        configuration.addDispatcherKind(
            FarKind(destinations: Dictionary(uniqueKeysWithValues: destinations.map { ($0.id, $0) })))
        configuration.addDispatcherKind(WorkedKind(workerWitness))
        if let streamWitness { configuration.addDispatcherKind(StreamKind(destination: streamWitness)) }
        if let rules = ledger.rules { configuration.addTransformerKind(MarkKind(account: rules)) }
        let service = try Service(
            scheduler: scheduler, loop: nil, configuration: configuration, loaded: try configuration.load(),
            groups: scene.groups, builtAt: SimulatedScheduler.builtAt, chance: { [record] in record.fraction() })
        try service.listen()
        record.note("the daemon starts")
        return service
    }

    /// Ends the daemon if a call of the disk was its last.
    private func reviveIfDead() {
        guard store.disk.isDown else { return }
        record.count(.diedInACall)
        die(record.oneIn(2) ? .powerless : .killed)
    }

    /// Makes the disk fail during some starts.
    private func trouble(_ disk: SimulatedDisk) {
        if ledger.corrupt?.kind == .anything, record.oneIn(4) { ledger.corrupt?.misread(disk) }
        // On a full disk a start takes other paths, which should be interrupted.
        if medium.room != nil, record.oneIn(2) {
            if record.oneIn(2) { disk.mood.failsToSync = 2 } else { disk.callsToLive = record.number(0...15) }
            return
        }
        if record.oneIn(6) { disk.callsToLive = record.number(0...40) }
        switch record.number(0...11) {
        case 0: disk.mood.fails = record.pick([5, 30])
        case 1: disk.mood.failsToSync = 3
        case 2...4: disk.callsToFault = record.number(0...60)
        default: break
        }
    }

    /// Ends the daemon, and starts the next.
    func die(_ end: LifeEnd) {
        lose(end)
        begin()
    }

    /// Stops the daemon in order, and starts the next.
    func restart() {
        stop()
        lose(orderlyEnd)
        begin()
        // The current segment is continued, so damage in it now is found only after the start has checked it.
        if ledger.corrupt?.kind == .frames, record.oneIn(2) { corrupt() }
    }

    /// On a small disk settlements may not be written for lack of room, as after a kill.
    private var orderlyEnd: LifeEnd { medium.room == nil ? .stopped : .killed }

    private func lose(_ end: LifeEnd) {
        checkAges()
        checkMetrics()
        record.note("the daemon is gone: \(end)")
        if let gate = service?.gate {
            for id in ledger.queues.keys { lost[id] = gate.counts.lost }
            for summary in gate.dispatcherSummaries where !ledger.queue(summary.id).isPatchy {
                lost[summary.id] = summary.counters.lost
            }
        }
        // The losses of a power failure are unknown until a store is opened.
        if lastEnd != .powerless { lastEnd = end }
        let leaving = service.map { (service: $0, sessions: $0.detachSessions()) }
        service = nil
        store.end()
        switch end {
        case .powerless:
            record.count(.powerLost)
            medium.losePower(record)
            ledger.corrupt?.powerLost(medium)
            scheduler.reboot(after: .seconds(record.number(0...60)))
            if record.oneIn(4) {
                record.count(.clockUpset)
                record.note("the wall clock comes up at \(scheduler.upsetClock(record).text)")
            }
        case .killed:
            record.count(.killed)
            scheduler.restart()
        case .stopped: scheduler.restart()
        }
        for actor in actors { actor.lifeEnded(end) }
        // Unsynced events are lost in a power failure, and their ids with them.
        if case .powerless = end, scene.durability == .normal { fleet.forgetIDs() }
        // Work caused by their release is dropped with the scheduler's restart.
        if let leaving { leaving.service.release(leaving.sessions) }
        scheduler.restart()
        if !isResting { BetweenLives(self, medium).spoil(fleet) }
        ledger.corrupt?.lifeEnded()
    }

    private func stop() {
        guard let service else { return }
        record.count(.stoppedInOrder)
        wasWell = store.disk.isWell && !store.executor.isHeld && store.executor.syncTime < SlowSyncs.long
        var outcome: StopOutcome?
        service.stop { outcome = $0 }
        for _ in 0..<50 where !(outcome != nil && service.sessions.count == 0) {
            _ = fleet.hear()
            scheduler.endTurn()
            store.executor.takeTurn()
            scheduler.advance(by: .milliseconds(200))
        }
        record.expect(store.disk.isDown || outcome != nil && service.sessions.count == 0, "the stop does not end")
        // With slow syncs the shutdown timeout may pass while groups wait. The daemon logs that it left them.
        if outcome?.isStoreClosed == false, store.executor.syncTime > .zero { wasWell = false }
    }

    // MARK: The end

    /// Ends the run without failures. Afterwards nothing may be pending or stuck.
    private func rest() {
        record.note("from now on nothing fails")
        isResting = true
        for actor in actors { actor.calmDown() }
        var turns = 0
        let most = ledger.corrupt?.isWild == true ? 100 : 3_000
        while turns < most, !isQuiet, record.violation == nil {
            // Time passes even while actors are active, since some of them only wait for time.
            proceed(lettingTimePass: turns % 10 == 9)
            turns += 1
        }
        record.expect(isQuiet, "something is stuck: \(stuck)")
        for actor in actors { actor.check() }
        if fillers?.lacksRoomForDeadLetters != true {
            ledger.check(store.allDeadLetters, counted: service?.gate.counts.all[.requeued] ?? 0)
        }
        // Events dead-lettered for their age are known only by their dead letters, which may still wait for room.
        let isKnown = fillers?.lacksRoomForDeadLetters != true || scene.patience.mostAge == nil
        for destination in destinations where isKnown && !destination.isGone && !destination.queue.isPatchy {
            let summary = service?.gate.dispatcherSummaries.first { $0.id == destination.queue.id }
            destination.queue.check(summary?.counters)
        }
        if isKnown, let service { ledger.check(service.gate.counts.all, damagedAtStart: store.executor.damagedAtStart) }
        checkMetrics(of: isKnown ? destinations : [])
        fillers?.expectRoom()
    }

    /// Checks that the metrics agree with status and with the destinations.
    private func checkMetrics(of destinations: [SimulatedDestination] = []) {
        guard let service else { return }
        let metrics = MetricsAccount(service)
        metrics.check(service, record)
        for destination in destinations where !destination.isGone && !destination.queue.isPatchy {
            destination.queue.check(metrics.dispatcher(destination.queue.id))
        }
    }

    func proceed(lettingTimePass: Bool) {
        let wasBusy = actors.map { $0.proceed() }.contains(true)
        scheduler.endTurn()
        store.executor.takeTurn()
        endTurn()
        if lettingTimePass || !wasBusy && !store.executor.hasWork { scheduler.advance(by: .milliseconds(500)) }
    }

    private var isQuiet: Bool {
        guard let service else { return false }
        return actors.allSatisfy(\.isQuiet) && service.gate.stored == .zero && store.executor.isIdle
            && service.sessions.all.allSatisfy { $0.machine.account == SessionAccount() }
    }

    /// A description of everything that is not finished.
    private var stuck: String {
        guard let service else { return "there is no daemon" }
        let dispatchers = service.gate.dispatcherSummaries.filter { $0.pending + $0.inFlight > 0 }
            .map { "\($0.id): \($0.pending) wait, \($0.inFlight) in flight" }
        let sessions = service.sessions.all.filter { $0.machine.account != SessionAccount() }.count
        let busy = actors.filter { !$0.isQuiet }.map { "\(type(of: $0))" }
        let store = store.executor.isIdle ? "" : ", and the store has work"
        return "\(dispatchers + busy), \(service.gate.stored), \(sessions) sessions\(store)"
    }

    private func end() {
        // Damaged parts of a log are set aside in their own folder.
        let strange = medium.names.keys.filter { $0.contains("damaged") && !$0.hasPrefix("/data/log/damaged/") }
        let hasPieces = medium.names.keys.contains { $0.hasPrefix("/data/log/damaged/") }
        record.expect(strange.isEmpty && (!hasPieces || ledger.corrupt != nil), "an undamaged store was set aside")
        stop()
        lose(orderlyEnd)
    }
}
