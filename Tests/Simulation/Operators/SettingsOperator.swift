import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// An operator's changes of settings while events are in flight (Behaviour S2, S3): limits, removed and restored
/// dispatchers (Behaviour Q3), barriers, and invalid settings.
final class SettingsOperator {
    private let record: Record
    private let destinations: [SimulatedDestination]
    private let scene: Scene
    private let orphans: Orphans?
    private let file: ConfigurationFile?
    /// The expected settings of the programmatic layer.
    private var expected: DataObject
    private var kept = KeptSettings()
    private weak var service: Service?
    private var isCalm = false
    /// True if removed dispatchers stay removed for now.
    private(set) var isWaiting = false

    init(
        _ record: Record, _ destinations: [SimulatedDestination], _ scene: Scene, _ orphans: Orphans?,
        _ file: ConfigurationFile?
    ) {
        (self.record, self.destinations, self.scene, self.orphans, self.file) = (
            record, destinations, scene, orphans, file
        )
        expected = scene.settings
    }

    func lifeBegan(_ service: Service) {
        self.service = service
        record.expect(file?.wasSound ?? true, "a daemon starts with an invalid file")
        let programmatic = service.control.layers[.programmatic]
        let isFound = kept.begin(with: { scene.settings.patched(with: $0) == programmatic })
        record.expect(isFound, "a daemon starts with wrong persisted settings")
        if kept.present != [:] { record.count(.settingsKept) }
        expected = scene.settings.patched(with: kept.present)
    }

    func lifeEnded(_ end: LifeEnd) {
        if case .powerless = end { kept.losePower() }
    }

    /// The relative frequency of changes.
    var haste: Int { scene.orphanRetention == nil ? 5 : 15 }

    func operate(_ connection: SimulatedClient) {
        if file != nil, record.oneIn(3) { return reload(connection) }
        if let destination = destinations.first(where: { $0.key != nil }), !destination.isRemoved, record.oneIn(3) {
            return changeBoard(destination, connection)
        }
        let destination = record.pick(destinations.filter { $0.id != ConfigurationFile.queue })
        // If queues are dropped soon, dispatchers are removed and restored often.
        switch record.number(scene.orphanRetention == nil || record.oneIn(2) ? 0...7 : 0...1) {
        case 0...1:
            if destination.isRemoved { bringBack(destination, connection) } else { remove(destination, connection) }
        case 2: if !destination.isRemoved { change(destination, connection) }
        case 3: keep(record.oneIn(3) ? ["shutdown_timeout_ms": 999] : room, connection)
        case 4: setFaulty(connection)
        case 5: reload(connection)
        default:
            record.count(.barrierSet)
            set(["barriers": .object(barrier())], connection)
        }
    }

    private func reload(_ connection: SimulatedClient) {
        if record.oneIn(2) { file?.edit() }
        connection.ask("config.reload", "{}") { [self] result in
            let isSound = file?.wasSound ?? true
            record.expect(
                (result != nil) == isSound,
                "a file that is \(isSound ? "sound" : "unsound") is \(isSound ? "refused" : "accepted")")
            let layer = service?.control.layers[.file] ?? [:]
            record.expect(layer == file?.inForce ?? [:], "the settings in force differ from the file")
        }
    }

    // MARK: Dispatchers

    private func remove(_ destination: SimulatedDestination, _ connection: SimulatedClient) {
        destination.isRemoved = true
        destination.isHeld = false
        destination.queue.isPatchy = true
        orphans?.goes(destination.id, isCertain: false)
        set(["dispatchers": [destination.id: .null]], connection) { [self] isSet in
            // At the end of the run, the dispatcher's return was already requested.
            guard !isCalm else { return }
            destination.isRemoved = isSet
            destination.isGone = isSet
            guard isSet else { return }
            orphans?.goes(destination.id, isCertain: true)
            // At times the dispatcher is restored before its removal is confirmed.
            if record.oneIn(3) { bringBack(destination, connection) }
        }
        record.count(.dispatcherRemoved)
    }

    /// Adds a removed dispatcher again. Returns false if none is removed.
    func bringOneBack(_ connection: SimulatedClient) -> Bool {
        let gone = destinations.filter { $0.isGone && $0.id != ConfigurationFile.queue }
        if !gone.isEmpty { bringBack(record.pick(gone), connection) }
        return !gone.isEmpty
    }

    private func bringBack(_ destination: SimulatedDestination, _ connection: SimulatedClient) {
        destination.isGone = false
        destination.isHeld = false
        orphans?.comes(destination.id, isCertain: false)
        destination.queue.isPatchy = true
        let entry = scene.entry(of: destination.id, destination.terms)
        let key = destination.key?.isOn == false ? destination.key : nil
        key?.requested()
        set(["dispatchers": [destination.id: .object(entry)]], connection) { [orphans] isSet in
            key?.answered(isOn: isSet)
            destination.isRemoved = !isSet
            if isSet { orphans?.comes(destination.id, isCertain: true) }
        }
        record.count(.dispatcherBack)
    }

    /// Changes a dispatcher's limits. From the moment of the request, the old or the new ones may hold.
    private func change(_ destination: SimulatedDestination, _ connection: SimulatedClient) {
        destination.isHeld = false
        let (old, new) = (destination.terms, SimulatedDestination.Terms(record))
        destination.setTerms(old.union(new))
        set(["dispatchers": [destination.id: .object(Scene.limits(new))]], connection) {
            destination.setTerms($0 ? new : old)
        }
    }

    /// Adds or removes the activation barrier of a dispatcher (Behaviour A9).
    private func changeBoard(_ destination: SimulatedDestination, _ connection: SimulatedClient) {
        guard let key = destination.key else { return }
        let isOn = !key.isOn
        destination.isHeld = false
        record.count(isOn ? .boardPut : .boardTaken)
        key.requested()
        let entry = isOn ? key.terms.entry : ["activation_barrier": .null]
        set(["dispatchers": [destination.id: .object(entry)]], connection) { key.answered(isOn: $0 == isOn) }
    }

    /// Changes the rules and transformations, all at once (Behaviour S2).
    func changeRules(_ account: RuleAccount, _ connection: SimulatedClient) {
        let book = Rulebook(record)
        account.requested(for: book)
        set(book.settings, connection) { [weak account] _ in account?.answered(book) }
    }

    // MARK: Checks

    private func barrier() -> DataObject {
        switch record.number(0...4) {
        case 0: ["BatchingBarrier": ["scopes": ["a"], "configuration": ["batch_size": 3, "max_wait_ms": 2_000]]]
        case 1: ["RateBarrier": ["scopes": ["b"], "configuration": ["per_second": 2, "burst": 3]]]
        case 2: ["IntervalBarrier": ["scopes": ["all"], "configuration": ["interval_ms": 3_000, "open_ms": 500]]]
        default: SettingsOperator.noBarriers
        }
    }

    private static let noBarriers: DataObject = [
        "BatchingBarrier": .null, "RateBarrier": .null, "IntervalBarrier": .null,
    ]

    /// Sends invalid settings, of which nothing may take effect (Behaviour S2).
    private func setFaulty(_ connection: SimulatedClient) {
        let fault: DataObject = record.oneIn(2) ? ["dispatch_limit": 0] : ["kind": "nowhere"]
        let patch: DataObject = ["dispatchers": ["a": .object(fault), "b": .null], "store": ["max_events": 1]]
        set(patch, connection, isSound: false)
        record.count(.settingsRefused)
    }

    private var room: DataObject { ["store": ["max_events": .number(DataNumber(record.pick([8, 50, 200])))]] }

    // MARK: Requests

    private func json(_ object: DataObject) -> String {
        var json = JSONWriter()
        json.object(object)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Requests a change of the settings, and checks the answer.
    /// - Parameter then: Called with true if the change was made.
    private func set(
        _ patch: DataObject, _ connection: SimulatedClient, isSound: Bool = true,
        then: @escaping (Bool) -> Void = { _ in }
    ) {
        connection.ask("config.set", #"{"patch":\#(json(patch))}"#) { [self] result in
            record.expect((result != nil) == isSound, "\(patch) is \(result == nil ? "refused" : "taken")")
            if result != nil { expected = expected.patched(with: patch) }
            then(result != nil)
            if !isCalm { check() }
        }
    }

    /// Persists a change, at times before the previous one is written. A change that cannot be written is still in
    /// force, and is written with the next one.
    private func keep(_ patch: DataObject, _ connection: SimulatedClient) {
        for patch in [patch] + (record.oneIn(2) ? [["shutdown_timeout_ms": 1_001]] : []) {
            let number = kept.ask(patch)
            expected = expected.patched(with: patch)
            connection.ask("config.set", #"{"persist":true,"patch":\#(json(patch))}"#) { [self] result in
                if result != nil { kept.answer(number) } else { record.count(.settingsNotKept) }
            }
        }
    }

    // MARK: End of the run

    /// Removes all barriers and limits.
    func calmDown(_ connection: SimulatedClient) {
        isCalm = true
        guard scene.changesSettings else { return }
        isWaiting = true
        set(["barriers": .object(SettingsOperator.noBarriers), "store": ["max_events": 200]], connection)
    }

    /// Restores all removed dispatchers, after the daemon has had time to drop their queues.
    func proceed(_ connection: SimulatedClient, _ scheduler: SimulatedScheduler) {
        guard orphans?.isKeepingForNow != true else { return scheduler.advance(by: .seconds(5)) }
        isWaiting = false
        file?.calmDown()
        for destination in destinations where destination.isRemoved || destination.id == ConfigurationFile.queue {
            bringBack(destination, connection)
        }
    }

    func check() {
        record.expect(service?.control.layers[.programmatic] == expected, "the settings are not those that were set")
    }
}
