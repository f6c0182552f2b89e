import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// Clients that own barriers and announce an application status (Behaviour B26, B29, F5).
final class BarrierClients: Actor {
    private let record: Record
    private let fleet: ClientFleet
    private var barriers: [BarrierAccount] = []
    private weak var service: Service?
    private var registered = 0
    /// True if everything written survives a restart, except after a power failure.
    private let isDiskSound: Bool
    private var hasCalmed = false
    private var isCalm = false

    init(
        _ record: Record, _ fleet: ClientFleet, _ destinations: [SimulatedDestination], _ workerWitness: WorkerWitness,
        isDiskSound: Bool
    ) {
        self.record = record
        self.isDiskSound = isDiskSound
        self.fleet = fleet
        for destination in destinations { destination.closing = { [unowned self, id = destination.id] in closing(id) } }
        workerWitness.closing = { [unowned self, id = workerWitness.queue.id] in closing(id) }
    }

    /// Returns a barrier that certainly blocks a dispatcher even during a flush.
    func closing(_ dispatcher: String) -> String? {
        barriers.first { $0.closes(dispatcher) }?.id
    }

    func lifeBegan(_ service: Service) {
        (self.service, hasCalmed) = (service, false)
    }

    /// Barriers that stay without their owner survive a restart (Behaviour B29).
    func lifeEnded(_ end: LifeEnd) {
        for barrier in barriers { barrier.lifeEnded(isKept: isDiskSound && end != .powerless) }
        if barriers.contains(where: { $0.certainlyStands }) { record.count(.barrierKept) }
    }

    // MARK: Actions

    var acts: [Act] {
        isCalm
            ? []
            : [
                Act(4, register), Act(4, set), Act(1, unregister), Act(1, vanish), Act(2, announce), Act(2, list),
                Act(ownerless.isEmpty ? 0 : 4, clear),
            ]
    }

    private func register() {
        guard let client = fleet.talking() else { return }
        let barrier = barrier(isNew: record.oneIn(2))
        let scopes = record.pick([nil, ["a"], ["b"], ["w"], ["a", "w"], []])
        let (isClosed, isFlushable) = (!record.oneIn(3), record.oneIn(3))
        let leaving = record.pick(["unregister", "open", "close", "keep"])
        let setting = BarrierAccount.Setting(
            scopes: scopes, isClosed: isClosed, isFlushable: isFlushable,
            leaving: leaving)
        let list = (scopes ?? ["all"]).map { "\"\($0)\"" }.joined(separator: ",")
        let params = #""scopes":[\#(list)],"state":"\#(word(isClosed))","flushable":\#(isFlushable)"#
        ask("register", barrier, client, #","on_disconnect":"\#(leaving)",\#(params)"#) { $0 = setting }
    }

    private func barrier(isNew: Bool) -> BarrierAccount {
        if !isNew, !barriers.isEmpty { return record.pick(barriers) }
        registered += 1
        let barrier = BarrierAccount(id: "r\(registered)")
        barriers.append(barrier)
        return barrier
    }

    private func word(_ isClosed: Bool) -> String { isClosed ? "closed" : "open" }

    /// Sets a barrier, mostly by its owner.
    private func set() {
        guard let (barrier, client) = barrierAndClient() else { return }
        let isClosed = record.oneIn(2)
        let isFlushable = record.oneIn(4) ? record.oneIn(2) : nil
        let dispatcher = record.oneIn(2) ? record.pick(["a", "b", "w"]) : nil
        let more =
            (isFlushable.map { #","flushable":\#($0)"# } ?? "") + (dispatcher.map { #","dispatcher":"\#($0)""# } ?? "")
        ask("set", barrier, client, #","state":"\#(word(isClosed))"\#(more)"#, mayMiss: dispatcher != nil) { setting in
            if let isFlushable { setting?.isFlushable = isFlushable }
            if let dispatcher {
                setting?.exceptions[dispatcher] = isClosed
            } else {
                setting?.isClosed = isClosed
                setting?.exceptions = [:]
            }
        }
        if record.oneIn(3) { list(client) }
    }

    private func unregister() {
        guard let (barrier, client) = barrierAndClient() else { return }
        let isForced = record.oneIn(3)
        ask("unregister", barrier, client, #","force":\#(isForced)"#, isForced: isForced) { $0 = nil }
    }

    private func barrierAndClient() -> (BarrierAccount, SimulatedClient)? {
        guard !barriers.isEmpty, let other = fleet.talking() else { return nil }
        let barrier = record.pick(barriers)
        guard let owner = barrier.owner, owner.isTalking, !record.oneIn(4) else { return (barrier, other) }
        return (barrier, owner)
    }

    private func ask(
        _ verb: String, _ barrier: BarrierAccount, _ client: SimulatedClient, _ params: String, isForced: Bool = false,
        mayMiss: Bool = false, _ change: @escaping (inout BarrierAccount.Setting?) -> Void
    ) {
        let ask = barrier.requested(by: client)
        client.ask(
            "barrier.\(verb)", #"{"id":"\#(barrier.id)"\#(params)}"#,
            .answered { [weak self, record] answer in
                switch answer {
                case .result:
                    let isSo = barrier.done(ask, isForced: isForced, change)
                    record.expect(isSo, "\(client.number) may \(verb) \(barrier.id), which belongs to another")
                    if barrier.closes("a") { record.count(.barrierClosed) }
                    // Now the state is certain, until the next request.
                    if verb == "set", record.oneIn(3) { self?.list() }
                case .refused("storage", _): barrier.unwritten(ask, change)
                case .refused(let reason, _):
                    if reason == "conflict" { record.count(.barrierOfAnother) }
                    // The dispatcher may not exist now.
                    let isSo = barrier.refused(ask) || mayMiss && reason == "not_found"
                    record.expect(isSo, "\(client.number) may not \(verb) \(barrier.id), which is its own: \(reason)")
                }
            })
    }

    /// Lists the barriers, and checks those that did not change meanwhile.
    private func list() {
        if let client = fleet.talking() { list(client) }
    }

    private func list(_ client: SimulatedClient) {
        let before = barriers.filter { $0.certainty != nil }.map { (barrier: $0, certainty: $0.certainty) }
        client.ask("barrier.list", "{}") { [record] result in
            let shown = result?.getArray(key: "barriers", of: DataObject.self)?.compactMap { $0 } ?? []
            for (barrier, certainty) in before where barrier.certainty == certainty {
                let entry = shown.first { $0.get(key: "id") == barrier.id }
                let problem = entry.map(barrier.problem) ?? "not at all"
                record.expect(problem == nil, "\(barrier.id) is listed wrongly: \(problem ?? "")")
                record.count(barrier.setting?.exceptions.isEmpty == false ? .exceptionListed : .barrierListed)
            }
        }
    }

    /// Barriers without an owner.
    private var ownerless: [BarrierAccount] {
        let ids = Set(service?.gate.barrierSummaries.filter { $0.identity.owner == nil }.map(\.identity.id) ?? [])
        return barriers.filter { ids.contains($0.id) }
    }

    /// An operator removes an orphaned barrier.
    private func clear() {
        guard let client = fleet.talking(), !ownerless.isEmpty else { return }
        ask("unregister", record.pick(ownerless), client, #","force":true"#, isForced: true) { $0 = nil }
    }

    /// Disconnects an owner.
    private func vanish() {
        let owners = barriers.compactMap(\.owner).filter { $0.isTalking && !$0.isOperator }
        guard !owners.isEmpty else { return }
        record.count(.barrierLeft)
        let owner = record.pick(owners)
        if record.oneIn(3) { owner.finish() } else { owner.lose() }
    }

    private func announce() {
        guard let client = fleet.talking() else { return }
        let status = record.pick(["foreground", "background", "background", "exiting"])
        client.ask("application.status", #"{"status":"\#(status)"}"#, .other)
    }

    // MARK: End of the run

    func calmDown() {
        isCalm = true
    }

    /// Lets the operator remove all orphaned barriers, since new ones may appear until the end.
    func proceed() -> Bool {
        guard let client = fleet.operatorsOwn, client.isContent else { return false }
        if !hasCalmed {
            client.ask("application.status", #"{"status":"foreground"}"#, .other)
            hasCalmed = true
        }
        let ids = service?.gate.barrierSummaries.map(\.identity.id) ?? []
        let left = barriers.filter { ids.contains($0.id) }
        for barrier in left { ask("unregister", barrier, client, #","force":true"#, isForced: true) { $0 = nil } }
        return !left.isEmpty
    }
}
