import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// A disk with slow syncs. During a sync only acknowledgements wait, and changes that must survive a restart.
/// Everything else is answered at once, and events in memory are sent.
///
/// Requests of this actor are made during a sync, and no time passes before they must be answered.
final class SlowSyncs: Actor, Duty {
    /// A board without a gateway, whose runs are answered at once.
    static let board = "quick"
    static let settings: DataObject = ["gateway": ["rules": ["quick": "exempt"]]]
    /// The longest duration of a sync, which exceeds the wait of an orderly stop.
    static let long = Duration.seconds(5)

    private unowned let world: World
    private unowned let fleet: ClientFleet
    private let destinations: [SimulatedDestination]
    private var service: Service?
    private var isCalm = false
    private var barriers = 0

    init(_ world: World, _ fleet: ClientFleet, _ destinations: [SimulatedDestination]) {
        (self.world, self.fleet, self.destinations) = (world, fleet, destinations)
        fleet.duties.append(self)
    }

    private var record: Record { world.record }
    private var executor: SimulatedStoreExecutor { world.store.executor }

    func lifeBegan(_ service: Service) {
        self.service = service
        executor.syncTime = isCalm ? .zero : .milliseconds(200)
    }

    func lifeEnded(_ end: LifeEnd) {
        service = nil
    }

    // MARK: Actions

    var acts: [Act] {
        if isCalm { return [] }
        guard executor.isSyncing else {
            return [Act(2) { [self] in executor.syncTime = record.pick([.milliseconds(200), SlowSyncs.long]) }]
        }
        return [
            Act(10, ask), Act(destinations.contains(where: \.hasWaiting) ? 30 : 0, deliver),
            Act(30) { [world] in world.scheduler.advance(by: .milliseconds(world.record.pick([50, 200, 1_000]))) },
        ]
    }

    /// Makes a request that needs no disk.
    private func ask() {
        guard let client = fleet.idle() else { return }
        let what = record.number(0...5)
        // A client that waits for an acknowledgement can still make other requests, except a flush, which would wait
        // for the event.
        if what != 4, record.oneIn(2) { client.track() }
        switch what {
        case 0: answersAtOnce(client, "ping")
        case 1: answersAtOnce(client, record.pick(["status", "dispatcher.list", "barrier.list"]))
        case 2: haveBarrier(client)
        case 3: activate(client)
        case 4: flushNothing(client)
        default: answersAtOnce(client, "application.status", #"{"status":"foreground"}"#)
        }
        record.count(.answeredInSync)
    }

    private func haveBarrier(_ client: SimulatedClient) {
        barriers += 1
        let id = #""id":"s\#(barriers)""#
        answersAtOnce(client, "barrier.register", "{\(id),\"scopes\":[],\"state\":\"closed\"}")
        answersAtOnce(client, "barrier.set", "{\(id),\"state\":\"open\"}")
        answersAtOnce(client, "barrier.unregister", "{\(id)}")
    }

    private func activate(_ client: SimulatedClient) {
        answersAtOnce(client, "board.serve", #"{"board":"\#(SlowSyncs.board)"}"#)
        answersAtOnce(client, "board.activate", #"{"board":"\#(SlowSyncs.board)","input":1}"#)
        answersAtOnce(client, "board.unserve", #"{"board":"\#(SlowSyncs.board)"}"#)
        record.count(.activatedInSync)
    }

    /// Flushes a dispatcher without events, stored or being stored, which must end at once.
    private func flushNothing(_ client: SimulatedClient) {
        guard let gate = service?.gate else { return }
        let empty = destinations.map(\.id).filter { id in
            guard let dispatcher = gate.dispatchers[id] else { return false }
            return dispatcher.unsettled.events == 0 && gate.events.offered(to: dispatcher.number) == 0
        }
        guard let id = empty.first else { return }
        answersAtOnce(client, "flush", #"{"dispatchers":["\#(id)"],"wait":true}"#)
    }

    private func answersAtOnce(_ client: SimulatedClient, _ method: String, _ params: String = "{}") {
        guard client.isTalking else { return }
        var isAnswered = false
        client.ask(
            method, params,
            .answered { [record] answer in
                isAnswered = true
                record.expect(answer.isResult, "client \(client.number): \(method) was refused: \(answer)")
            })
        for _ in 0..<4 where !isAnswered { takeTurn(client) }
        record.expect(isAnswered || !client.isTalking, "client \(client.number): \(method) waits for the disk")
    }

    private func takeTurn(_ client: SimulatedClient) {
        client.connection.deliver(most: 5_000)
        world.scheduler.endTurn()
        fleet.read()
    }

    // MARK: Boards

    let methods: Set = ["board.run"]

    func came(_ method: String, _ params: DataObject, id: Int?, to client: SimulatedClient) {
        guard params["board"] == .string(SlowSyncs.board), let id else { return }
        client.answer(id, result: #"{"done":true}"#)
    }

    // MARK: Destinations

    /// Delivers a batch. The next one must follow if the dispatcher is open and its events are in memory.
    private func deliver() {
        let requested = destinations.filter(\.hasWaiting)
        guard !requested.isEmpty else { return }
        let destination = record.pick(requested)
        let before = destination.sent.count
        destination.take()
        for _ in 0..<4 { world.scheduler.endTurn() }
        // A small batch may be delayed for a millisecond.
        world.scheduler.advance(by: .milliseconds(1))
        if destination.sent.count > before { record.count(.sentInSync) }
        let summary = service?.gate.dispatcherSummaries.first { $0.id == destination.id }
        guard let summary, summary.isOpen, !destination.hasWaiting, !world.store.isReading else { return }
        let left = summary.pending + summary.inFlight
        record.expect(left == 0, "\(destination.id): \(left) events wait for the disk")
    }

    // MARK: End of the run

    func calmDown() {
        isCalm = true
        executor.syncTime = .zero
    }
}
