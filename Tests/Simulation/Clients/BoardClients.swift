import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// Clients that serve boards, and clients that activate them (Behaviour A1–A8).
final class BoardClients: Actor, Duty {
    private let record: Record
    private let scheduler: any Scheduler
    private unowned let fleet: ClientFleet
    private let terms: BoardTerms
    private let account: BoardAccount
    private var servings: [Serving] = []
    /// Runs that are not answered yet.
    private var open: [BoardAccount.Run] = []
    private weak var service: Service?
    private var isCalm = false

    /// A board served by a client, now or earlier.
    private final class Serving {
        let client: SimulatedClient
        let board: String
        /// True if the daemon has confirmed the serving, and the client has not asked to end it since.
        var isCertain = false
        var serves: Bool { isCertain && client.isTalking }
        /// The number of requests so far that begin or end the serving.
        var requested = 0

        init(_ client: SimulatedClient, _ board: String) {
            self.client = client
            self.board = board
        }
    }

    init(_ record: Record, _ scheduler: any Scheduler, _ fleet: ClientFleet, _ terms: BoardTerms) {
        self.record = record
        self.scheduler = scheduler
        self.fleet = fleet
        self.terms = terms
        account = BoardAccount(terms, record, scheduler)
        account.isServedSlowly = { [unowned self] board in
            servings.contains { $0.board == board && $0.client.connection.mostOutput >= Scene.mostOutput }
        }
        fleet.duties.append(self)
    }

    func lifeBegan(_ service: Service) {
        self.service = service
    }

    func lifeEnded(_ end: LifeEnd) {
        (servings, open) = ([], [])
        account.lifeEnded()
    }

    // MARK: Actions

    var acts: [Act] {
        isCalm ? [] : [Act(5, serve), Act(1, unserve), Act(8, activate), Act(12, answer), Act(3, vanish)]
    }

    private func serve() {
        guard let client = fleet.talking() else { return }
        for _ in 0..<record.number(1...4) { serve(record.pick(terms.names), client) }
    }

    private func serve(_ board: String, _ client: SimulatedClient) {
        let serving = servings.first { $0.client === client && $0.board == board } ?? Serving(client, board)
        if serving.requested == 0 { servings.append(serving) }
        serving.requested += 1
        client.ask(
            "board.serve", terms.serving(board),
            .answered { [record, requested = serving.requested] answer in
                record.expect(answer.isResult, "client \(client.number): serving \(board) was refused: \(answer)")
                serving.isCertain = serving.requested == requested
            })
    }

    private func unserve() {
        guard let serving = pick(servings.filter(\.serves)) else { return }
        serving.isCertain = false
        serving.requested += 1
        serving.client.ask(
            "board.unserve", #"{"board":"\#(serving.board)"}"#,
            .answered { [record] in record.expect($0.isResult, "\(serving.board) was not served: \($0)") })
    }

    private func activate() {
        guard let client = fleet.talking() else { return }
        let served = servings.filter(\.serves).map(\.board)
        let board = record.pick(["plain", "guarded", "guarded", "free", "door"] + served)
        let input = record.oneIn(3) ? record.number(1...2) : record.number(3...9_999)
        let call = BoardCall(board: board, input: input, mainboard: record.pick(["uid:0", "other"]))
        let (timeout, wait) = (record.pick([200, 500]), record.pick([0, 0, 1_000]))
        let present = servings.filter(\.serves).map { (serving: $0, requested: $0.requested) }
        let activation = account.requested(call, timeout: timeout) { board in
            present.contains { $0.serving.board == board && $0.serving.serves && $0.serving.requested == $0.requested }
        } mayRunBarrier: { [unowned self] in
            servings.contains { $0.client === client && terms.isBarrier($0.board) }
        }
        let named = call.mainboard == "uid:0" ? "" : #","mainboard":"\#(call.mainboard)""#
        let params = #"{"board":"\#(board)","input":\#(input),"timeout_ms":\#(timeout),"wait_ms":\#(wait)\#(named)}"#
        client.ask("board.activate", params, .answered { [account] in account.answered(activation, $0) })
    }

    private func answer() {
        guard let run = pick(open.filter { $0.client.isTalking && mayAnswer($0) }) else { return }
        open.removeAll { $0 === run }
        if run.isHung { record.count(.boardLate) }
        account.answer(run, done: record.pick([true, true, true, true, false, nil]))
    }

    /// Returns true if the process answers now. Some runs hang for longer than any activation waits.
    private func mayAnswer(_ run: BoardAccount.Run) -> Bool {
        !run.isHung || scheduler.now > run.readAt + .milliseconds(600)
    }

    /// Disconnects a process during a run.
    private func vanish() {
        let under = open.filter { $0.client.isTalking && !$0.client.isOperator }
        let shared = under.filter { run in
            run.isBarrier && servings.contains { $0.board == run.call.board && $0.serves && $0.client !== run.client }
        }
        guard let run = pick(shared) ?? pick(under) else { return }
        if record.oneIn(3) { run.client.finish() } else { run.client.lose() }
    }

    private func pick<Choice>(_ choices: [Choice]) -> Choice? {
        choices.isEmpty ? nil : record.pick(choices)
    }

    // MARK: Requests to board processes

    let methods: Set = ["board.run", "board.barrier"]

    func came(_ method: String, _ params: DataObject, id: Int?, to client: SimulatedClient) {
        if method == "board.barrier" { return choose(params, id, client) }
        // The boards of ``KeyClients`` and ``SlowSyncs`` are handled by those actors.
        guard params["board"] != .string(KeyTerms.board), params["board"] != .string(SlowSyncs.board) else { return }
        let run = id.flatMap { BoardAccount.Run(params, to: client, request: $0, readAt: scheduler.now) }
        guard let run else { return record.expect(false, "client \(client.number) is asked to run an unknown board") }
        record.note("\(client.number) is to run \(run.call) \(run.activation)")
        run.isHung = record.oneIn(4)
        open.append(run)
        account.read(run)
    }

    private func choose(_ params: DataObject, _ id: Int?, _ client: SimulatedClient) {
        record.expect(params["board"] == "guarded", "\(client.number) is asked for a barrier that it does not choose")
        record.count(.barrierChosen)
        if let id { client.answer(id, result: terms.choice) }
    }

    // MARK: End of the run

    func calmDown() {
        isCalm = true
    }

    /// Answers all runs except those that hang, which must not block anything.
    func proceed() -> Bool {
        let due = open.filter { $0.client.isTalking && !$0.isHung }
        open = []
        for run in due { account.answer(run, done: true) }
        return !due.isEmpty
    }

    var isQuiet: Bool { service?.boards.isIdle == true }
}

extension BoardAccount {
    fileprivate func answered(_ activation: Activation, _ answer: Answer) {
        switch answer {
        case .result(let result): completed(activation, result)
        case .refused(let reason, let data):
            failed(
                activation,
                BoardFailure(reason: reason, barrier: data.get(key: "barrier"), cause: data.get(key: "cause")))
        }
    }
}
