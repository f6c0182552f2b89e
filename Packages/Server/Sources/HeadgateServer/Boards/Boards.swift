import HeadgateCore
import HeadgateData

/// A process that serves boards: a client, or the embedding program.
protocol BoardProvider: AnyObject {
    /// A Boolean value that says whether the provider runs no board.
    var isIdle: Bool { get }
    /// True while the process does not read what the daemon sends, so that it gets nothing more (Behaviour X2).
    var isOverfull: Bool { get }
    /// Runs a board, and reports the answer to ``Boards/answered(_:_:)``, later.
    func begin(_ run: BoardRun)
    /// Chooses the barrier of an activation, and reports the choice to ``Boards/chose(_:_:)``, later (Behaviour A2).
    func chooseBarrier(for run: BoardRun)
    /// Ends a run whose answer is no longer needed.
    func cancel(_ run: Int)
}

/// The boards that processes serve and activate (Behaviour A1–A8). Performs the orders of ``ActivationMachine``: asks
/// providers to run boards, and reports outcomes to the callers. Keeps the machine's one timer.
final class Boards {
    private var machine = ActivationMachine()
    let scheduler: any Scheduler
    private let log: Log
    /// The processes that serve boards, by session number. The embedding program's boards have negative numbers.
    private var providers: [Int: any BoardProvider] = [:]
    /// The callbacks that get the outcome of each activation.
    private var completions: [Int: (ActivationOutcome) -> Void] = [:]
    private let servingSubject = PulseSubject<Void>()
    private var timer: (any Disposable)?
    private var timerDeadline: Instant?

    init(scheduler: any Scheduler, log: Log) {
        self.scheduler = scheduler
        self.log = log
    }

    /// The gateway rules of the settings (Behaviour A7).
    var gateways: GatewayRules {
        get { machine.gateways }
        set { machine.gateways = newValue }
    }

    /// The warnings about boards, for `status`.
    var warnings: [String] {
        machine.deniedBypasses.map { "board \($0): asks to bypass the gateway, which the settings forbid" }
    }

    // MARK: Serving

    func serve(_ board: String, _ serving: BoardServing, by session: Session) throws(ServingRefusal) {
        try serve(board, serving, by: session.number) { ClientProvider(session, for: self) }
        if machine.deniedBypasses.contains(board) {
            log.write(.bypassForbidden, ["board": .string(board), "client": .string(session.name)])
        }
    }

    func serve(_ board: String, _ serving: BoardServing, by program: ProgramBoard) throws(ServingRefusal) {
        try serve(board, serving, by: program.number) { program }
    }

    private func serve(
        _ board: String, _ serving: BoardServing, by number: Int, _ provider: () -> any BoardProvider
    ) throws(ServingRefusal) {
        let orders = try machine.serve(board, serving, by: number, at: scheduler.now)
        providers[number] = providers[number] ?? provider()
        perform(orders)
        servingSubject.send(())
    }

    /// Ends the serving of a board by a provider.
    /// - Returns: false if the provider does not serve the board.
    func unserve(_ board: String, by provider: Int) -> Bool {
        defer { servingSubject.send(()) }
        return machine.unserve(board, by: provider)
    }

    /// Ends the serving of all boards by a process. Runs that have begun may finish.
    /// - Returns: true if the process served any board.
    func dismiss(_ session: Int) -> Bool {
        defer { servingSubject.send(()) }
        return machine.unserveAll(by: session)
    }

    var servingChanges: Observable<Void> { servingSubject.observable }

    func isServed(_ board: String) -> Bool {
        machine.isServed(board)
    }

    // MARK: Activating

    /// Activates a board.
    /// - Parameter then: called exactly once with the outcome, at once or later.
    /// - Returns: the activation's number.
    @discardableResult
    func activate(
        _ request: ActivationRequest, then: @escaping (ActivationOutcome) -> Void
    ) throws(TooManyActivations) -> Int {
        let (activation, orders) = try machine.activate(request, at: scheduler.now)
        completions[activation] = then
        perform(orders)
        return activation
    }

    func cancel(_ activation: Int) {
        perform(machine.cancel(activation, at: scheduler.now))
    }

    // MARK: Ends

    /// Ends the activations of a session that has ended, without a report of their outcomes.
    func clientLeft(_ session: Int) {
        perform(machine.clientLeft(session, at: scheduler.now))
    }

    /// Removes a provider that sends nothing more.
    func servingClientLeft(_ session: Int) {
        guard providers.removeValue(forKey: session) != nil else { return }
        perform(machine.servingClientLeft(session, at: scheduler.now))
        servingSubject.send(())
    }

    /// A Boolean value that says whether no activation and no run is in progress.
    var isIdle: Bool { completions.isEmpty && machine.nextDeadline == nil && providers.values.allSatisfy(\.isIdle) }

    /// Cancels all activations, because the service stops.
    func close() {
        for activation in completions.keys.sorted() { cancel(activation) }
        timer?.dispose()
        timer = nil
    }

    // MARK: Orders

    private func perform(_ orders: [ActivationOrder]) {
        for order in orders {
            switch order {
            case .run(let run):
                ask(run) {
                    $0.begin(run)
                } else: {
                    $0.answered(run, .failure(.notReading))
                }
            case .choose(let run):
                ask(run) {
                    $0.chooseBarrier(for: run)
                } else: {
                    $0.chose(run, .failure(.notReading))
                }
            case .withdraw(let run, let provider): providers[provider]?.cancel(run)
            case .end(let activation, let outcome): completions.removeValue(forKey: activation)?(outcome)
            }
        }
        arm()
    }

    /// Passes the process that serves a run to `ask`. If the process does not read its input, calls `fail` later
    /// instead, after the machine's other orders.
    private func ask(
        _ run: BoardRun, _ ask: (any BoardProvider) -> Void, else fail: @escaping (Boards) -> Void
    ) {
        if let provider = providers[run.provider], !provider.isOverfull { return ask(provider) }
        scheduler.soon { [weak self] in self.map(fail) }
    }

    /// Handles a process's choice of the barrier for an activation. An error ends the activation.
    func chose(_ run: BoardRun, _ choice: Result<ActivationBarrier?, ActivationFault>) {
        perform(machine.chose(run.run, by: run.provider, choice, at: scheduler.now))
    }

    /// Handles a process's answer to a run.
    func answered(_ run: BoardRun, _ answer: BoardAnswer) {
        perform(machine.answered(run.run, by: run.provider, with: answer, at: scheduler.now))
    }

    // MARK: Time

    private func arm() {
        guard machine.nextDeadline != timerDeadline else { return }
        timer?.dispose()
        timerDeadline = machine.nextDeadline
        timer = timerDeadline.map { time in scheduler.schedule(at: time) { [weak self] in self?.timePassed() } }
    }

    private func timePassed() {
        timerDeadline = nil
        perform(machine.timePassed(to: scheduler.now))
    }
}

/// Activations by dispatchers (Behaviour A9).
extension Boards: BoardActivator {
    func activate(
        _ board: String, for dispatcherId: String, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable {
        var request = ActivationRequest(board: board, mainboard: "dispatcher:\(dispatcherId)")
        request.input = ["dispatcher": .string(dispatcherId)]
        request.isBarrier = true
        request.wait = nil
        return DispatcherTask(request, at: self, then)
    }
}

/// An activation that a dispatcher may cancel.
private final class DispatcherTask: Disposable {
    private weak var boards: Boards?
    private var then: ((ActivationOutcome) -> Void)?
    private var activation: Int?

    init(_ request: ActivationRequest, at boards: Boards, _ then: @escaping (ActivationOutcome) -> Void) {
        self.boards = boards
        self.then = then
        // The limits of activations apply to clients only, so this call does not fail.
        activation = try? boards.activate(request) { [weak self, scheduler = boards.scheduler] outcome in
            scheduler.soon { self?.ended(outcome) }
        }
    }

    func dispose() {
        then = nil
        guard let activation else { return }
        self.activation = nil
        boards?.cancel(activation)
    }

    private func ended(_ outcome: ActivationOutcome) {
        activation = nil
        let then = self.then
        self.then = nil
        then?(outcome)
    }
}
