import HeadgateCore

@testable import HeadgateServer

/// An operator, whose connection lasts as long as the daemon. It makes one request at a time.
final class Operator: Actor {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private let fleet: ClientFleet
    private let destinations: [SimulatedDestination]
    private let deadLetters: DeadLetterOperator
    private let settings: SettingsOperator
    private let rules: RuleAccount?
    private let changesSettings: Bool
    private var connection: SimulatedClient?
    private var isCalm = false

    init(
        _ record: Record, _ scheduler: SimulatedScheduler, _ fleet: ClientFleet, _ destinations: [SimulatedDestination],
        _ ledger: Ledger,
        _ scene: Scene, _ file: ConfigurationFile?
    ) {
        (self.record, self.scheduler) = (record, scheduler)
        deadLetters = DeadLetterOperator(record, ledger.deadLetters)
        settings = SettingsOperator(record, destinations, scene, ledger.orphans, file)
        changesSettings = scene.changesSettings
        rules = ledger.rules
        self.fleet = fleet
        self.destinations = destinations
    }

    func lifeBegan(_ service: Service) {
        connection = fleet.connectOperator()
        for destination in destinations {
            destination.isOperated = { [weak connection] in connection?.isContent == false }
        }
        settings.lifeBegan(service)
        deadLetters.lifeBegan(service)
        for destination in destinations where destination.isResumeKept {
            let barrier = service.gate.barrierSummaries.first { $0.identity.id == "ManualBarrier:\(destination.id)" }
            let isOpen = barrier?.states.allSatisfy { $0.state == .open } ?? true
            record.expect(isOpen, "\(destination.id) was resumed, but is paused after a restart")
        }
        if isCalm { calmDown() }
    }

    func lifeEnded(_ end: LifeEnd) {
        connection = nil
        rules?.lifeEnded()
        settings.lifeEnded(end)
    }

    var acts: [Act] {
        guard !isCalm, let connection else { return [] }
        guard connection.isContent else {
            // After a hasty pause it may resume before the pause is written.
            return connection.pausing.map { destination in [Act(5) { [self] in resume(destination) }] } ?? []
        }
        let there = destinations.filter { !$0.isRemoved }
        guard !there.isEmpty else { return [Act(5) { [settings] in settings.operate(connection) }] }
        return [
            Act(5) { [self] in operate(connection, record.pick(there)) },
            Act(3) { [self] in deadLetters.operate(connection, record.pick(there)) },
            Act(changesSettings ? settings.haste : 0) { [settings] in settings.operate(connection) },
        ] + (rules.map { [Act(3, changeRules($0, connection))] } ?? [])
    }

    /// Adds a removed dispatcher again, if there is one, and tracks an event for it.
    func haveOneBack() {
        guard let connection, settings.bringOneBack(connection) else { return }
        connection.track()
        connection.connection.deliver(most: 5_000)
    }

    private func changeRules(_ account: RuleAccount, _ connection: SimulatedClient) -> () -> Void {
        { [settings] in settings.changeRules(account, connection) }
    }

    private func operate(_ connection: SimulatedClient, _ destination: SimulatedDestination) {
        switch record.number(0...7) {
        case 7: connection.ask("dispatcher.retry", #"{"id":"\#(destination.id)"}"#, .other)
        case 6: QueueInspection(record, destination).begin(connection)
        case 0: connection.ask("queue.purge", #"{"dispatcher":"\#(destination.id)"}"#, .purge)
        case 1...2:
            record.count(.paused)
            (destination.isHeld, destination.isResumeKept) = (false, false)
            let isFlushable = record.oneIn(3)
            if isFlushable { destination.isPaused = false }
            let request = isFlushable ? SimulatedClient.Request.other : .pause(destination, isPaused: true)
            connection.ask("dispatcher.pause", #"{"id":"\#(destination.id)","flushable":\#(isFlushable)}"#, request)
        default: resume(destination)
        }
    }

    /// Resumes a dispatcher, which may be open from the moment of the request.
    private func resume(_ destination: SimulatedDestination) {
        destination.isPaused = false
        destination.isHeld = false
        connection?.ask("dispatcher.resume", #"{"id":"\#(destination.id)"}"#, .pause(destination, isPaused: false))
    }

    var isQuiet: Bool { !settings.isWaiting }

    func proceed() -> Bool {
        guard let connection, settings.isWaiting else { return false }
        settings.proceed(connection, scheduler)
        // Dispatchers that are added again now may have been paused before they were removed.
        if !settings.isWaiting { destinations.forEach(resume) }
        return true
    }

    func check() { if changesSettings { settings.check() } }

    func calmDown() {
        isCalm = true
        if let connection { settings.calmDown(connection) }
        for destination in destinations where !destination.isGone { resume(destination) }
        if let connection { deadLetters.list(connection) }
    }
}
