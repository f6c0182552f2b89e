import HeadgateCore
import HeadgateData

/// Who serves boards: a client, or the program around the server.
protocol BoardProvider: AnyObject {
    /// Whether it runs nothing.
    var isIdle: Bool { get }
    /// True while the process leaves what it was sent unread, so that it gets nothing more (Behaviour X2).
    var isOverfull: Bool { get }
    /// It is to run a board. ``Boards/answered(_:_:)`` is told what comes of it, later.
    func begin(_ run: BoardRun)
    /// Chooses the barrier of an activation, and reports the choice to ``Boards/chose(_:_:)``, later (Behaviour A2).
    func chooseBarrier(for run: BoardRun)
    /// Nobody waits for a run any more.
    func cancel(_ run: Int)
}

/// The boards that processes serve and activate: carries out what the machine of activations orders (Behaviour A1–A8), asks
/// those who serve, tells those who activated what came of it, and keeps the machine's one timer.
final class Boards {
    private var machine = Activations()
    let scheduler: any Scheduler
    private let log: Log
    /// Those who serve boards.
    private var providers: [Int: any BoardProvider] = [:]
    /// Who is told the end of each activation.
    private var askers: [Int: (ActivationOutcome) -> Void] = [:]
    private let servingSubject = PulseSubject<Void>()
    private var alarm: (any Disposable)?
    private var alarmTime: Instant?

    init(scheduler: any Scheduler, log: Log) {
        self.scheduler = scheduler
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
        try serve(board, serving, by: session.number) { ClientProvider(session, for: self) }
        if machine.deniedBypasses.contains(board) {
            log.tell(.bypassForbidden, ["board": .string(board), "client": .string(session.name)])
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

    /// - Returns: false when that provider does not serve it.
    func unserve(_ board: String, by provider: Int) -> Bool {
        defer { servingSubject.send(()) }
        return machine.unserve(board, by: provider)
    }

    /// A process may serve no board any more. What it is running it may finish.
    /// - Returns: whether it served any.
    func dismiss(_ session: Int) -> Bool {
        defer { servingSubject.send(()) }
        return machine.unserveAll(by: session)
    }

    var servingChanges: Observable<Void> { servingSubject.observable }

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
        let (activation, orders) = try machine.activate(request, at: scheduler.now)
        askers[activation] = then
        perform(orders)
        return activation
    }

    func cancel(_ activation: Int) {
        perform(machine.cancel(activation, at: scheduler.now))
    }

    // MARK: Ends

    /// A session has ended: nobody is told what came of what it activated.
    func clientLeft(_ session: Int) {
        perform(machine.clientLeft(session, at: scheduler.now))
    }

    /// Nothing comes from a process any more, though it may still be told something.
    func providerLeft(_ session: Int) {
        guard providers.removeValue(forKey: session) != nil else { return }
        perform(machine.providerLeft(session, at: scheduler.now))
        servingSubject.send(())
    }

    /// Whether nothing is under way.
    var isIdle: Bool { askers.isEmpty && machine.nextDeadline == nil && providers.values.allSatisfy(\.isIdle) }

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
            case .end(let activation, let outcome): askers.removeValue(forKey: activation)?(outcome)
            }
        }
        arm()
    }

    /// Asks the process of a run. A process that reads nothing fails the run, later: the machine's other orders come first.
    private func ask(
        _ run: BoardRun, _ ask: (any BoardProvider) -> Void, else fail: @escaping (Boards) -> Void
    ) {
        if let provider = providers[run.provider], !provider.isOverfull { return ask(provider) }
        scheduler.soon { [weak self] in self.map(fail) }
    }

    /// The process of a run has chosen the barrier of its activation; an error ends the activation.
    func chose(_ run: BoardRun, _ choice: Result<ActivationBarrier?, ActivationFault>) {
        perform(machine.chose(run.run, by: run.provider, choice, at: scheduler.now))
    }

    /// What whoever was to run it has answered.
    func answered(_ run: BoardRun, _ answer: BoardAnswer) {
        perform(machine.answered(run.run, by: run.provider, with: answer, at: scheduler.now))
    }

    // MARK: Time

    private func arm() {
        guard machine.nextDeadline != alarmTime else { return }
        alarm?.dispose()
        alarmTime = machine.nextDeadline
        alarm = alarmTime.map { time in scheduler.schedule(at: time) { [weak self] in self?.timePassed() } }
    }

    private func timePassed() {
        alarmTime = nil
        perform(machine.timePassed(to: scheduler.now))
    }
}

/// Boards that dispatchers activate (Behaviour A9).
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

/// An activation that a dispatcher may give up.
private final class DispatcherTask: Disposable {
    private weak var boards: Boards?
    private var then: ((ActivationOutcome) -> Void)?
    private var activation: Int?

    init(_ request: ActivationRequest, at boards: Boards, _ then: @escaping (ActivationOutcome) -> Void) {
        self.boards = boards
        self.then = then
        // The service itself is held to no limit.
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
