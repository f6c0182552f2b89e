import HeadgateData

/// A barrier that blocks a dispatcher until its board has completed. Each dispatcher with an activation barrier has
/// one, which is never flushable (Behaviour A9, B30).
final class ActivationGate: DescribedBarrier {
    static let kind = "ActivationGate"
    static let word = "activation"

    let settings: DispatcherActivation
    /// The number of the present opening. The result of a batch sent under an earlier opening says nothing about this
    /// one.
    private var generation = 0
    /// The output of the board's last completion. It may contain secrets (Behaviour X4).
    private var output = DataObject()
    private let dispatcherId: String
    private let scheduler: any Scheduler
    private let turn: PendingEvaluations
    private let backOff: (inout RetryPolicy) -> Duration
    private var retries = RetryPolicy()
    private var phase = Phase.idle
    @StateSubject(.closed) private var state: ObservableState<BarrierState>

    /// The phase of the gate. A fact that belongs to another phase is late, and is ignored. ``end()`` ends every phase.
    private enum Phase {
        /// Closed. The board has not been requested. Next: `asking`, when a dispatch is pending.
        case idle
        /// Closed. The board has been requested and has not completed. Next: `open` or `resting`, by its outcome.
        case asking(any Disposable)
        /// Closed. The board refused, and is requested again after a wait. Next: `idle`, after the wait or when an
        /// operator ends it.
        case resting(cause: String, any Disposable)
        /// Open. The board has completed; the timer ends its `sticky_ms`. Next: `idle`, after that time or when the
        /// destination answered 401.
        case open((any Disposable)?)
        /// Closed for good: the dispatcher is removed or has another gate. The last phase.
        case ended
    }

    /// - Parameter backOff: returns the wait after a refusal.
    init(
        _ settings: DispatcherActivation, dispatcherId: String, scheduler: any Scheduler,
        turn: PendingEvaluations, backOff: @escaping (inout RetryPolicy) -> Duration
    ) {
        self.settings = settings
        self.dispatcherId = dispatcherId
        self.scheduler = scheduler
        self.turn = turn
        self.backOff = backOff
    }

    var identity: BarrierIdentity {
        BarrierIdentity(
            id: "\(ActivationGate.kind):\(dispatcherId)", kind: ActivationGate.kind, word: ActivationGate.word)
    }

    /// The opening under which batches are sent, with the board's output.
    var opening: BoardOpening { BoardOpening(generation: generation, output: output) }

    // MARK: Facts

    /// Requests the activation of the board, because a dispatch is pending. Does nothing while a request is running, or
    /// after a refusal until the wait is over.
    func want() {
        guard case .idle = phase, let activator = turn.host?.boardActivator else { return }
        enter(.asking(activator.activate(settings.board, for: dispatcherId) { [weak self] in self?.ended($0) }))
    }

    /// Closes the gate because the destination answered 401 to a batch of an opening, unless the board has completed
    /// again meanwhile.
    func renew(_ sentUnder: Int) {
        guard sentUnder == generation, case .open = phase else { return }
        close()
    }

    /// Ends the wait after a refusal, so that the board is requested again now (Behaviour D5). The number of consecutive
    /// refusals is unchanged.
    /// - Returns: true if the gate was waiting.
    func endRest() -> Bool {
        guard case .resting = phase else { return false }
        close()
        return true
    }

    /// Ends the gate, because its dispatcher is removed or gets another gate.
    func end() {
        release()
        phase = .ended
    }

    /// Enters a phase. The dispatcher is evaluated, since the board may have to be requested, and the gate's reason has
    /// changed.
    private func enter(_ new: Phase) {
        phase = new
        turn.evaluate(dispatcherId)
        turn.barriersChanged()
    }

    private func ended(_ outcome: ActivationOutcome) {
        if case .ended = phase { return }
        do throws(ActivationRefusal) {
            open(try accepted(outcome))
        } catch {
            let timer = scheduler.schedule(at: scheduler.now + backOff(&retries)) { [weak self] in self?.close() }
            enter(.resting(cause: error.cause, timer))
        }
    }

    private func open(_ output: DataObject) {
        self.output = output
        generation += 1
        retries.succeeded()
        let end = settings.sticky.map { sticky in
            scheduler.schedule(at: scheduler.now + sticky) { [weak self] in self?.close() }
        }
        enter(.open(end))
        _state.value = .open
    }

    private func close() {
        if case .ended = phase { return }
        release()
        enter(.idle)
    }

    /// Disposes of the phase's timer or request, and closes the barrier.
    private func release() {
        switch phase {
        case .idle, .ended: break
        case .open(let end): end?.dispose()
        case .asking(let task), .resting(_, let task): task.dispose()
        }
        output = [:]
        _state.value = .closed
    }

    // MARK: The board's answer

    /// Returns the board's output if it completed and the output has all required members.
    private func accepted(_ outcome: ActivationOutcome) throws(ActivationRefusal) -> DataObject {
        guard case .completed(let result) = outcome, result.done else {
            throw ActivationRefusal(outcome, settings.board)
        }
        let item = result.output
        let output = item?.get(as: DataObject.self) ?? [:]
        for name in settings.outputs.sorted() where output.outputText(name) == nil {
            throw ActivationRefusal(cause: "board \(settings.board) completed without a usable output `\(name)`")
        }
        return output
    }

    // MARK: As a barrier

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    var isFlushable: Observable<Bool> {
        Observables.just(false)
    }

    func reason(for dispatcherId: String) -> String? {
        let board = settings.board
        switch phase {
        case .idle, .ended: return "board \(board) runs once an event is pending"
        case .asking:
            let isServed = turn.host?.boardActivator?.isServed(board) ?? false
            return isServed ? "board \(board) is running" : "no client serves board \(board)"
        case .resting(let cause, _): return cause
        case .open: return nil
        }
    }
}

extension DataObject {
    /// Returns a member of a board's output as a header value: a string or a number that is not empty and has no
    /// control characters. Returns nil for anything else.
    public func outputText(_ name: String) -> String? {
        let text: String
        switch self[name] {
        case .string(let string): text = string
        case .number(let number): text = number.text
        default: return nil
        }
        return text.isEmpty || text.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? nil : text
    }
}

/// The reason why a board did not open its dispatcher, for people.
struct ActivationRefusal: Error {
    let cause: String

    init(cause: String) {
        self.cause = cause
    }

    init(_ outcome: ActivationOutcome, _ board: String) {
        cause = "board \(board) " + ActivationRefusal.words(outcome)
    }

    private static func words(_ outcome: ActivationOutcome) -> String {
        switch outcome {
        case .completed: "refused"
        case .failed(let fault): "failed: \(fault.message.cut(toBytes: longestMessage))"
        case .notServed: "has no client that serves it"
        case .providerLost: "lost the process that serves it"
        case .timedOut: "did not answer in time"
        case .cancelled(let barrier, let cause): "was cancelled by \(barrier): \(cause.rawValue)"
        case .cycle(let boards): "waits for itself in a circle: \(boards.joined(separator: ", "))"
        case .withdrawn: "was cancelled"
        }
    }

    /// The longest error message of a board that is included, in bytes.
    private static let longestMessage = 200
}
