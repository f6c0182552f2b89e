import HeadgateData

/// Holds a dispatcher until its board has completed: one stands before each that has an activation barrier, never
/// flushable (Behaviour A9, B30).
final class ActivationGate: DescribedBarrier {
    static let kind = "ActivationGate"
    static let word = "activation"

    let settings: DispatcherActivation
    /// Counts its openings: what was sent under an earlier one proves nothing about this one.
    private var generation = 0
    /// What the board put out when it completed last. Secrets (Behaviour X4).
    private var output = DataObject()
    private let dispatcherId: String
    private let scheduler: any Scheduler
    private let turn: TurnRecord
    private let backOff: (inout RetryPolicy) -> Duration
    private var retries = RetryPolicy()
    private var phase = Phase.idle
    private var isOver = false
    @StateSubject(.closed) private var state: ObservableState<BarrierState>

    private enum Phase {
        /// Closed, and nobody has asked yet.
        case idle
        /// The board was asked for; closed until it completes.
        case asking(any Disposable)
        /// The board was refused; closed until it may be asked again.
        case resting(cause: String, any Disposable)
        /// The board has completed; with the end of its `sticky_ms`.
        case open((any Disposable)?)
    }

    /// - Parameter backOff: how long to wait after a refusal.
    init(
        _ settings: DispatcherActivation, dispatcherId: String, scheduler: any Scheduler,
        turn: TurnRecord, backOff: @escaping (inout RetryPolicy) -> Duration
    ) {
        self.settings = settings
        self.dispatcherId = dispatcherId
        self.scheduler = scheduler
        self.turn = turn
        self.backOff = backOff
    }

    /// What batches are sent under, and with.
    var opening: BoardOpening { BoardOpening(generation: generation, output: output) }

    // MARK: Facts

    /// Something waits for it: the board is asked for, unless it was, or may not be yet.
    func want() {
        guard case .idle = phase, let activator = turn.host?.boardActivator else { return }
        enter(.asking(activator.activate(settings.board, for: dispatcherId) { [weak self] in self?.ended($0) }))
    }

    /// The destination answered 401 to what was sent under an opening: the board has to complete again, unless it has
    /// meanwhile.
    func renew(_ sentUnder: Int) {
        guard sentUnder == generation, case .open = phase else { return }
        close()
    }

    /// The dispatcher is gone, or gets another one.
    func end() {
        isOver = true
        close()
    }

    /// It does something else than before: it may want to be asked, and says another reason.
    private func enter(_ new: Phase) {
        phase = new
        guard !isOver else { return }
        turn.look(dispatcherId)
        turn.barriersChanged()
    }

    private func ended(_ outcome: ActivationOutcome) {
        do throws(ActivationRefusal) {
            open(try accepted(outcome))
        } catch {
            let alarm = scheduler.schedule(at: scheduler.now + backOff(&retries)) { [weak self] in self?.close() }
            enter(.resting(cause: error.cause, alarm))
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
        switch phase {
        case .idle: break
        case .open(let end): end?.dispose()
        case .asking(let task), .resting(_, let task): task.dispose()
        }
        output = [:]
        _state.value = .closed
        enter(.idle)
    }

    // MARK: The board's answer

    /// What the board put out, if it completed and left nothing out.
    private func accepted(_ outcome: ActivationOutcome) throws(ActivationRefusal) -> DataObject {
        guard case .completed(done: true, let item) = outcome else { throw ActivationRefusal(outcome, settings.board) }
        let output = item?.get(as: DataObject.self) ?? [:]
        for name in settings.outputs.sorted() where output.outputText(name) == nil {
            throw ActivationRefusal(cause: "board \(settings.board) put out no usable `\(name)`")
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
        case .idle: return "board \(board) is run once something waits"
        case .asking:
            let isServed = turn.host?.boardActivator?.isServed(board) ?? false
            return isServed ? "board \(board) runs" : "nobody serves board \(board)"
        case .resting(let cause, _): return cause
        case .open: return nil
        }
    }
}

extension DataObject {
    /// A member of a board's output as it can stand in a header: a string or a number, on one line, not empty.
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

/// Why a board did not open the way to a dispatcher, in words for people.
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
        case .notServed: "is served by nobody"
        case .providerLost: "lost its process"
        case .timedOut: "did not answer in time"
        case .cancelled(let barrier, let cause): "was held by \(barrier): \(cause.rawValue)"
        case .circle(let boards): "waits in a circle: \(boards.joined(separator: ", "))"
        case .givenUp: "was given up"
        }
    }

    /// More of another's words is not for one line.
    private static let longestMessage = 200
}
