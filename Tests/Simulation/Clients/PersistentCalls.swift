import HeadgateCore
import HeadgateData

@testable import HeadgateClient
@testable import HeadgateServer

/// A program's calls that last as long as a connection: watches, barriers, boards and subscriptions. The client renews
/// them on each connection. At the end the daemon must have each of them once, and none that the program ended.
final class PersistentCalls {
    /// A dispatcher without events, whose workers have nothing to do.
    static let dispatcher = "v"
    static let settings: DataObject = [
        "load_rules": ["never": ["operator": "is_defined", "path": "data.never"]],
        "dispatchers": ["v": ["kind": "worker", "load_rule": "never"]],
    ]

    private enum Kind: CaseIterable {
        case watch, barrier, board, subscription
    }

    /// A lasting call that the program wants. `isGranted` is true once the daemon has confirmed it.
    private final class Want {
        let kind: Kind
        var call: ClientConnection.Call?
        var isGranted = false
        /// The last state set for a barrier.
        var isClosed = false
        /// True if the program has ended the call.
        var isCancelled = false

        init(_ kind: Kind) {
            self.kind = kind
        }
    }

    private let name: String
    private let record: Record
    private let connection: ClientConnection
    private var wants: [Want] = []
    /// The number of unanswered requests.
    private var requested = 0
    private let credit: Int

    init(_ name: String, _ record: Record, _ connection: ClientConnection) {
        (self.name, self.record, self.connection) = (name, record, connection)
        credit = record.number(1...3)
    }

    /// True if a call is not granted, or not ended yet.
    var isWaiting: Bool { requested > 0 || wants.contains { !$0.isGranted } }

    // MARK: Actions

    /// Begins, changes or ends a lasting call.
    func act() {
        let barrier = wants.first { $0.kind == .barrier }
        switch record.number(0...5) {
        case 0...2: begin(record.pick(Kind.allCases))
        case 3 where barrier != nil: set(record.oneIn(2))
        default: if !wants.isEmpty { end(record.pick(wants)) }
        }
    }

    /// Begins a call: a program has one barrier, one board, one subscription, and up to three watches.
    private func begin(_ kind: Kind) {
        guard wants.count(where: { $0.kind == kind }) < (kind == .watch ? 3 : 1) else { return }
        record.note("\(name) begins with \(kind)")
        let want = Want(kind)
        wants.append(want)
        switch kind {
        case .watch: want.call = connection.watch([.barriers]) { [unowned self] in took(want, $0) }
        case .barrier:
            want.isClosed = record.oneIn(2)
            let registration = BarrierRegistration(
                id, want.isClosed ? .closed : .open, scopes: ["a"], isFlushable: record.oneIn(2))
            connection.registerBarrier(registration) { [unowned self] in took(want, $0) }
        case .board: connection.serveBoard(id) { [unowned self] in took(want, $0) }
        case .subscription:
            connection.subscribe(to: PersistentCalls.dispatcher, credit: credit) { [unowned self] in took(want, $0) }
        }
    }

    private var id: String { "of-" + name }

    /// Sets the program's barrier.
    /// - Parameter isClosed: The new state of the barrier.
    private func set(_ isClosed: Bool) {
        guard let barrier = wants.first(where: { $0.kind == .barrier }) else { return }
        barrier.isClosed = isClosed
        requested += 1
        connection.setBarrier(id, BarrierChange(isClosed ? .closed : .open)) { [unowned self] _ in requested -= 1 }
    }

    private func end(_ want: Want) {
        record.note("\(name) ends \(want.kind)")
        record.count(want.isGranted ? .persistentCallEnded : .persistentCallEndedEarly)
        want.isCancelled = true
        wants.removeAll { $0 === want }
        let then = { [unowned self] in requested -= 1 }
        requested += 1
        switch want.kind {
        case .watch:
            want.call.map(connection.cancel)
            then()
        case .barrier: connection.unregisterBarrier(id) { _ in then() }
        case .board: connection.unserveBoard(id, then: then)
        case .subscription: connection.unsubscribe(from: PersistentCalls.dispatcher, then: then)
        }
    }

    /// Opens the barrier if it is closed. An opened barrier is not set again: the client must renew it with its last
    /// state.
    func calmDown() {
        if wants.contains(where: \.isClosed) { set(false) }
    }

    // MARK: Reports

    private func took(_ want: Want, _ report: PersistentCallReport) {
        switch report {
        case .began: began(want)
        case .interrupted: want.isGranted = false
        case .ended(let error): ended(want, error)
        }
    }

    private func took(_ want: Want, _ news: WatchNews) {
        switch news {
        case .began: began(want)
        case .changed: break
        case .interrupted: want.isGranted = false
        case .ended(let error): ended(want, error)
        }
    }

    private func took(_ want: Want, _ news: BoardNews) {
        switch news {
        case .began: began(want)
        case .run(_, let request): request.answer(["done": true])
        case .choose: record.expect(false, "\(name) is asked for a barrier, which it did not offer to choose")
        case .interrupted: want.isGranted = false
        case .ended(let error): ended(want, error)
        }
    }

    private func took(_ want: Want, _ news: SubscriptionNews) {
        switch news {
        case .began: began(want)
        case .batch: record.expect(false, "\(name) gets a batch without events")
        case .interrupted: want.isGranted = false
        case .ended(let error): ended(want, error)
        }
    }

    private func began(_ want: Want) {
        record.note("\(name) has its \(want.kind)")
        record.count(.persistentCallBegan)
        record.expect(!want.isGranted, "\(name) is notified twice that it has its \(want.kind)")
        want.isGranted = true
    }

    private func ended(_ want: Want, _ error: any Error) {
        wants.removeAll { $0 === want }
        if case ClientError.closed? = error as? ClientError { return }
        record.expect(want.isCancelled && error is CancellationError, "\(name) loses its \(want.kind): \(error)")
    }

    // MARK: State at the daemon

    /// Checks, at the end of the history, that the daemon has exactly the lasting calls of the program.
    func check(_ service: Service) {
        let sessions = service.sessions.all.filter { $0.caller.client == name + "/1" }
        record.expect(wants.isEmpty || sessions.count == 1, "\(name) has \(sessions.count) connections")
        let number = { [wants] kind in wants.count { $0.kind == kind } }
        let watches = service.watches.count { watch in sessions.contains { $0 === watch } }
        record.expect(watches == number(.watch), "\(name) has \(watches) watches, not \(number(.watch))")
        let barriers = service.gate.barrierSummaries.filter { $0.identity.id == id }
        record.expect(
            barriers.count == number(.barrier), "\(name) has \(barriers.count) barriers, not \(number(.barrier))")
        let isClosed = barriers.contains { $0.states.contains { $0.state == .closed } }
        record.expect(!isClosed, "the barrier of \(name) is closed, but it was opened")
        let isServed = service.boards.isServed(id)
        record.expect(isServed == (number(.board) == 1), "\(name) serves its board: \(isServed)")
        if !wants.isEmpty { record.count(.persistentCallsChecked) }
    }

    /// The number of batches that the program would take at once.
    var credits: Int { wants.contains { $0.kind == .subscription } ? credit : 0 }
}
