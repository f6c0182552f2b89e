import HeadgateCore
import HeadgateData
import HeadgateWire

/// Carries out what the machine of activations orders (Behaviour A1–A8): asks the processes that serve boards, tells those
/// who activated them what came of it, and keeps the machine's one timer.
final class BoardDesk {
    private var machine = Activations()
    let worker: any Worker
    private let log: Log
    /// The sessions that serve boards.
    private var providers: [Int: Session] = [:]
    /// Who is told the end of each activation.
    private var askers: [Int: (ActivationOutcome) -> Void] = [:]
    /// The request of each run.
    private var requests: [Int: PeerRequests.Number] = [:]
    var onServingChange: () -> Void = {}
    private var alarm: (any Disposable)?
    private var alarmTime: Instant?

    init(worker: any Worker, log: Log) {
        self.worker = worker
        self.log = log
    }

    /// What the settings put before boards (Behaviour A7).
    var gateways: GatewayRules {
        get { machine.gateways }
        set { machine.gateways = newValue }
    }

    /// What people should know of the boards that are served.
    var warnings: [String] {
        machine.deniedBypasses.map { "board \($0): asks to bypass the gateway, which the settings forbid" }
    }

    // MARK: Serving

    func serve(_ board: String, _ serving: BoardServing, by session: Session) throws(ServingRefusal) {
        let orders = try machine.serve(board, serving, by: session.number, at: worker.now)
        providers[session.number] = session
        if machine.deniedBypasses.contains(board) {
            log.warning("board \(board) of \(session.name) asks to bypass the gateway, which the settings forbid")
        }
        perform(orders)
        onServingChange()
    }

    /// - Returns: false when the session does not serve it.
    func unserve(_ board: String, by session: Session) -> Bool {
        defer { onServingChange() }
        return machine.unserve(board, by: session.number)
    }

    /// A process may serve no board any more. What it is running it may finish.
    /// - Returns: whether it served any.
    func dismiss(_ session: Int) -> Bool {
        machine.unserveAll(by: session)
    }

    func isServed(_ board: String) -> Bool {
        machine.isServed(board)
    }

    // MARK: Activating

    /// - Parameter then: told once what came of it, at once or later.
    /// - Returns: the activation's number.
    @discardableResult
    func activate(
        _ request: ActivationRequest, then: @escaping (ActivationOutcome) -> Void
    ) throws(TooManyActivations) -> Int {
        let (activation, orders) = try machine.activate(request, at: worker.now)
        askers[activation] = then
        perform(orders)
        return activation
    }

    func cancel(_ activation: Int) {
        perform(machine.cancel(activation, at: worker.now))
    }

    // MARK: Ends

    /// A session has ended: nobody is told what came of what it activated.
    func clientLeft(_ session: Int) {
        perform(machine.clientLeft(session, at: worker.now))
    }

    /// Nothing comes from a process any more, though it may still be told something.
    func providerLeft(_ session: Int) {
        guard providers.removeValue(forKey: session) != nil else { return }
        perform(machine.providerLeft(session, at: worker.now))
        onServingChange()
    }

    /// Whether nothing is under way.
    var isIdle: Bool { askers.isEmpty && requests.isEmpty && machine.nextDeadline == nil }

    /// Gives up all that is under way: the service stops.
    func close() {
        for activation in askers.keys.sorted() { cancel(activation) }
        alarm?.dispose()
        alarm = nil
    }

    // MARK: Orders

    private func perform(_ orders: [ActivationOrder]) {
        for order in orders {
            switch order {
            case .run(let run): ask(run)
            case .withdraw(let run, let provider):
                guard let request = requests.removeValue(forKey: run) else { continue }
                providers[provider]?.withdraw(request)
            case .end(let activation, let outcome): askers.removeValue(forKey: activation)?(outcome)
            }
        }
        arm()
    }

    private func ask(_ run: BoardRun) {
        guard let session = providers[run.provider], !session.isOverfull else {
            // Later: the machine's other orders come first.
            return worker.soon { [weak self] in self?.answered(run, .failure(.notReading)) }
        }
        requests[run.run] = session.ask(BoardMethods.run.name) {
            $0.params(of: run)
        } then: { [weak self] in
            self?.answered(run, $0)
        }
    }

    private func answered(_ run: BoardRun, _ result: Result<JSONView, PeerFault>) {
        requests[run.run] = nil
        if case .failure(.gone) = result { return providerLeft(run.provider) }
        answered(run, BoardAnswer(result))
    }

    private func answered(_ run: BoardRun, _ answer: BoardAnswer) {
        perform(machine.answered(run.run, by: run.provider, with: answer, at: worker.now))
    }

    // MARK: Time

    private func arm() {
        guard machine.nextDeadline != alarmTime else { return }
        alarm?.dispose()
        alarmTime = machine.nextDeadline
        alarm = alarmTime.map { time in worker.schedule(at: time) { [weak self] in self?.timePassed() } }
    }

    private func timePassed() {
        alarmTime = nil
        perform(machine.timePassed(to: worker.now))
    }
}

extension JSONWriter {
    /// The params of `board.run`.
    fileprivate mutating func params(of run: BoardRun) {
        beginObject()
        member("board", run.board)
        member("activation", "activation-\(run.activation)")
        member("input", item: run.input)
        member("mainboard", run.mainboard)
        member("as_barrier", run.isBarrier)
        endObject()
    }
}
