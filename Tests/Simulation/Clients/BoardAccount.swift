import HeadgateCore
import HeadgateData

/// The model of board activations in one life of the daemon: activations by clients, and the runs that serving clients
/// read and answered (Behaviour A1–A8).
final class BoardAccount {
    private let terms: BoardTerms
    private let record: Record
    private let scheduler: any Scheduler
    private(set) var activations: [Activation] = []
    private var runs: [Run] = []
    /// The number of events so far, to determine the order of any two.
    private var moment = 0

    /// An activation requested by a client.
    final class Activation {
        let call: BoardCall
        /// The minimum time limit of the process, in milliseconds.
        let timeout: Int
        let requestedAt: Instant
        let moment: Int
        /// True if the board was certainly served at some time since the request.
        let isServed: (String) -> Bool
        /// True if the requesting client may itself run a barrier, so that boards may wait for each other in a cycle
        /// (Behaviour A8).
        let mayRunBarrier: () -> Bool

        fileprivate init(
            _ call: BoardCall, timeout: Int, requestedAt: Instant, moment: Int, isServed: @escaping (String) -> Bool,
            mayRunBarrier: @escaping () -> Bool
        ) {
            (self.call, self.timeout, self.requestedAt, self.moment) = (call, timeout, requestedAt, moment)
            (self.isServed, self.mayRunBarrier) = (isServed, mayRunBarrier)
        }
    }

    /// A run that the daemon requested from a process.
    final class Run {
        let client: SimulatedClient
        let request: Int
        let activation: String
        let call: BoardCall
        let isBarrier: Bool
        let readAt: Instant
        /// True if the process does not answer this run in time.
        var isHung = false
        /// The answer, or nil if there is none or an invalid one.
        fileprivate(set) var done: Bool?
        fileprivate(set) var isRefused = false
        /// The moment at which the daemon had certainly read the answer.
        fileprivate var certain: Int?

        init?(_ params: DataObject, to client: SimulatedClient, request: Int, readAt: Instant) {
            guard let board = params.get(key: "board", as: String.self),
                let activation = params.get(key: "activation", as: String.self),
                let input = params.get(key: "input", as: Int.self),
                let mainboard = params.get(key: "mainboard", as: String.self),
                let isBarrier = params.get(key: "as_barrier", as: Bool.self)
            else { return nil }
            call = BoardCall(board: board, input: input, mainboard: mainboard)
            (self.client, self.request, self.activation) = (client, request, activation)
            (self.isBarrier, self.readAt) = (isBarrier, readAt)
        }

        /// The output of the run, which is unique.
        fileprivate var output: String { "\(client.number):\(request)" }
    }

    init(_ terms: BoardTerms, _ record: Record, _ scheduler: any Scheduler) {
        self.terms = terms
        self.record = record
        self.scheduler = scheduler
    }

    func lifeEnded() {
        (activations, runs) = ([], [])
    }

    // MARK: Serving clients

    /// Checks a run that a process has read: it must be requested, and all barriers before it must have completed
    /// (Behaviour A2, A4, A7).
    func read(_ run: Run) {
        moment += 1
        let former = runs.filter { $0.activation == run.activation }
        let isFirst = former.isEmpty
        record.expect(isFirst || run.isBarrier, "\(run.activation) is run twice")
        let there = (former + [run]).count { $0.client.isTalking }
        record.expect(there <= 1, "\(there) processes have \(run.activation) at once")
        if !isFirst { record.count(.boardTakenOver) }
        let wishes = activations.filter { run.isBarrier ? waits($0, for: run) : $0.call == run.call }
        let isRequested = run.isBarrier ? !wishes.isEmpty : wishes.count > runs.count { $0.isOne(of: run) }
        record.expect(isRequested, "\(run.call) is run without a request")
        let since = wishes.map(\.moment).min() ?? 0
        for barrier in terms.barriers(before: run.call.board) where !barrier.passesInTime {
            let isThrough = runs.contains { completed($0, as: barrier, before: run.call, since: since) }
            record.expect(isThrough, "\(run.call) is run before \(barrier.board) has completed")
        }
        runs.append(run)
    }

    /// Returns true if an activation requires a run as a barrier.
    private func waits(_ activation: Activation, for run: Run) -> Bool {
        waits(activation.call, for: run.call)
    }

    private func waits(_ call: BoardCall, for run: BoardCall) -> Bool {
        terms.barriers(before: call.board).contains { barrier in
            let next = BoardCall(board: barrier.board, input: call.input, mainboard: call.mainboard)
            return barrier.isShared(by: run, with: call) || waits(next, for: run)
        }
    }

    /// Returns true if a run may have completed a barrier for a call that was waiting since `since`.
    private func completed(_ run: Run, as barrier: BoardTerms.Barrier, before call: BoardCall, since: Int) -> Bool {
        guard run.isBarrier, run.done == true, barrier.isShared(by: run.call, with: call) else { return false }
        return barrier.isSticky || run.certain.map { $0 > since } ?? true
    }

    /// Answers a run and sends another request after the answer. When that is answered, the daemon has read this
    /// answer.
    func answer(_ run: Run, done: Bool?) {
        moment += 1
        run.done = done
        run.isRefused = done != true
        switch done {
        case let done?:
            run.client.answer(run.request, result: #"{"done":\#(done),"output":"\#(run.output)"}"#)
        case nil where record.oneIn(2): run.client.answer(run.request, error: "broken")
        case nil: run.client.answer(run.request, result: "{}")
        }
        run.client.ask("ping", "{}", .answered { [unowned self] _ in certain(run) })
    }

    private func certain(_ run: Run) {
        moment += 1
        run.certain = moment
    }

    // MARK: Activating clients

    func requested(
        _ call: BoardCall, timeout: Int, isServed: @escaping (String) -> Bool, mayRunBarrier: @escaping () -> Bool
    ) -> Activation {
        moment += 1
        // The daemon reads nothing more from a closed connection.
        for run in runs where run.certain == nil && !run.client.connection.isOpen { run.certain = moment }
        let activation = Activation(
            call, timeout: timeout, requestedAt: scheduler.now, moment: moment, isServed: isServed,
            mayRunBarrier: mayRunBarrier)
        activations.append(activation)
        return activation
    }

    /// Checks the result of an activation: it must be the answer of a process that ran the board.
    func completed(_ activation: Activation, _ result: DataObject) {
        let (done, output) = (result.get(key: "done", as: Bool.self), result.get(key: "output", as: String.self))
        let run = runs.first { $0.output == output && !$0.isBarrier }
        let isSo = run.map { $0.call == activation.call && $0.done == done } ?? false
        record.expect(isSo, "\(activation.call) is answered \(String(describing: output)), an unknown answer")
        record.count(.boardRun)
    }

    /// Checks the failure of an activation and its reason.
    func failed(_ activation: Activation, _ failure: BoardFailure) {
        switch (failure.reason, failure.cause) {
        case ("not_found", _):
            record.count(.notServed)
            record.expect(!activation.isServed(activation.call.board), "\(activation.call) is not found but is served")
        case ("timeout", _):
            record.count(.activationTimedOut)
            let isDue = scheduler.now >= activation.requestedAt + .milliseconds(activation.timeout)
            record.expect(isDue, "\(activation.call) has timed out too early")
        case ("provider_lost", _): record.count(.providerLost)
        case ("cancelled", "refused"):
            record.count(.barrierRefused)
            expectRefusal(of: activation, failure.barrier)
        case ("cancelled", "timeout"): record.count(.barrierTimedOut)
        case ("cancelled", "provider_lost"):
            record.count(.barrierLost)
            let board = failure.barrier ?? ""
            record.expect(!activation.isServed(board), "\(activation.call) has lost \(board), which is still served")
        case ("activation_cycle", _):
            record.count(.activatedWithinRun)
            record.expect(activation.mayRunBarrier(), "\(activation.call) is no cycle: its client runs no barrier")
        case ("shutting_down", _), ("limit", _): break
        default: record.expect(false, "\(activation.call) is refused: \(failure)")
        }
    }

    /// Checks that a process answered `done: false` or an error for the board, or reads too slowly to be asked.
    private func expectRefusal(of activation: Activation, _ barrier: String?) {
        let board = barrier ?? activation.call.board
        let isSo = runs.contains { $0.call.board == board && $0.isRefused } || isServedSlowly(board)
        record.expect(isSo, "\(activation.call) is refused by \(board), but no process refused")
    }

    /// True if a process that serves the board has unread output.
    var isServedSlowly: (String) -> Bool = { _ in false }
}

extension BoardAccount.Run {
    /// Returns true if the run is no barrier and has the same board, input and mainboard as another one.
    fileprivate func isOne(of run: BoardAccount.Run) -> Bool { !isBarrier && call == run.call }
}

/// The reason why an activation failed.
struct BoardFailure {
    let reason: String
    let barrier: String?
    let cause: String?
}
