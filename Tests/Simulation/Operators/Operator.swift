import HeadgateCore

@testable import HeadgateServer

/// An operator, whose connection lasts as long as the daemon. It makes one request at a time.
final class Operator: Actor {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private let fleet: ClientFleet
    private let sides: [FarSide]
    private let deadLetters: DeadLetterOperator
    private let settings: SettingsOperator
    private let rules: RuleAccount?
    private let changesSettings: Bool
    private var connection: SimulatedClient?
    private var isCalm = false

    init(
        _ record: Record, _ scheduler: SimulatedScheduler, _ fleet: ClientFleet, _ sides: [FarSide], _ ledger: Ledger,
        _ scene: Scene, _ file: ConfigurationFile?
    ) {
        (self.record, self.scheduler) = (record, scheduler)
        deadLetters = DeadLetterOperator(record, ledger.deadLetters)
        settings = SettingsOperator(record, sides, scene, ledger.orphans, file)
        changesSettings = scene.changesSettings
        rules = ledger.rules
        self.fleet = fleet
        self.sides = sides
    }

    func lifeBegan(_ service: Service) {
        connection = fleet.connectOperator()
        for side in sides { side.isOperated = { [weak connection] in connection?.isContent == false } }
        settings.lifeBegan(service)
        deadLetters.lifeBegan(service)
        for side in sides where side.isResumeKept {
            let barrier = service.gate.barrierSummaries.first { $0.identity.id == "ManualBarrier:\(side.id)" }
            let isOpen = barrier?.states.allSatisfy { $0.state == .open } ?? true
            record.expect(isOpen, "\(side.id) was resumed, but is paused after a restart")
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
            return connection.pausing.map { side in [Act(5) { [self] in resume(side) }] } ?? []
        }
        let there = sides.filter { !$0.isRemoved }
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

    private func operate(_ connection: SimulatedClient, _ side: FarSide) {
        switch record.number(0...7) {
        case 7: connection.ask("dispatcher.retry", #"{"id":"\#(side.id)"}"#, .other)
        case 6: QueueInspection(record, side).begin(connection)
        case 0: connection.ask("queue.purge", #"{"dispatcher":"\#(side.id)"}"#, .purge)
        case 1...2:
            record.count(.paused)
            (side.isHeld, side.isResumeKept) = (false, false)
            let isFlushable = record.oneIn(3)
            if isFlushable { side.isPaused = false }
            let request = isFlushable ? SimulatedClient.Request.other : .pause(side, isPaused: true)
            connection.ask("dispatcher.pause", #"{"id":"\#(side.id)","flushable":\#(isFlushable)}"#, request)
        default: resume(side)
        }
    }

    /// Resumes a dispatcher, which may be open from the moment of the request.
    private func resume(_ side: FarSide) {
        side.isPaused = false
        side.isHeld = false
        connection?.ask("dispatcher.resume", #"{"id":"\#(side.id)"}"#, .pause(side, isPaused: false))
    }

    var isQuiet: Bool { !settings.isWaiting }

    func proceed() -> Bool {
        guard let connection, settings.isWaiting else { return false }
        settings.proceed(connection, scheduler)
        // Dispatchers that are added again now may have been paused before they were removed.
        if !settings.isWaiting { sides.forEach(resume) }
        return true
    }

    func check() { if changesSettings { settings.check() } }

    func calmDown() {
        isCalm = true
        if let connection { settings.calmDown(connection) }
        for side in sides where !side.isGone { resume(side) }
        if let connection { deadLetters.list(connection) }
    }
}
