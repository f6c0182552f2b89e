import Glibc
import HeadgateClient
import HeadgateTransport

extension Command {
    private static let credit = Option(
        "--credit", value: "N", "run at most N commands at once, each with a batch of its own (default: 1)")
    private static let limit = Option("--limit", value: "N", "the most events of a batch")

    private static let always: @Sendable (Arguments) -> Bool = { _ in true }

    /// The command `headgate worker`.
    static let worker = Command(
        name: "worker", summary: "Run a command for each batch of a dispatcher of kind worker.",
        operands: [Operand("ID"), Operand("-- COMMAND", .some)], options: [credit, limit],
        notes: """
            The command reads the batch on its standard input, one event per line. Its environment has $HEADGATE_DISPATCHER,
            $HEADGATE_BATCH (the same for the same events) and $HEADGATE_ATTEMPT. Exit code 0 marks the
            batch as delivered; after any other code the batch is sent again. The worker prints the command's output.
            Give options before `--`.

            A command that takes longer than the dispatcher's lease_ms loses the batch to another worker. When the daemon
            restarts, the worker reconnects and continues. SIGTERM or Ctrl-C lets running commands finish, and ends the
            worker with exit code 0; a second signal ends the commands, too. The worker passes all other signals on to its
            commands; after SIGHUP or SIGQUIT it ends when its commands have ended. When the worker is killed, its commands
            get SIGTERM.
            """,
        runsOn: always
    ) { invocation in
        let operands = invocation.arguments.operands
        let order = WorkerOptions(
            dispatcher: operands[0], command: Array(operands.dropFirst()),
            credit: try number(credit, invocation.arguments) ?? 1, limit: try number(limit, invocation.arguments))
        return try WorkerRun(order, invocation).run()
    }

    private static func number(_ option: Option, _ arguments: Arguments) throws(UsageError) -> Int? {
        guard let text = arguments.value(option) else { return nil }
        if let number = Int(text), number > 0 { return number }
        throw UsageError(message: "worker: \(option.usage) must be a whole number from 1", command: "worker")
    }
}

/// The options of a worker.
private struct WorkerOptions {
    /// The dispatcher whose batches the worker takes.
    let dispatcher: String
    /// The program and its arguments.
    let command: [String]
    /// The most batches at a time.
    let credit: Int
    /// The most events of a batch, or nil for no limit.
    let limit: Int?
}

/// The signals that a worker handles.
private enum WorkerSignals {
    enum Action {
        /// The worker ends after its commands have ended.
        case end
        /// The commands get the signal.
        case passOn
        /// The commands get the signal, and the worker ends after they have ended.
        case passOnAndEnd
    }

    /// The action of each signal. Signals that the kernel sends for a fault of this process are left out.
    private static let actions: [(Int32, Action)] = [
        (SIGTERM, .end), (SIGINT, .end), (SIGHUP, .passOnAndEnd), (SIGQUIT, .passOnAndEnd), (SIGUSR1, .passOn),
        (SIGUSR2, .passOn), (SIGALRM, .passOn), (SIGWINCH, .passOn), (SIGCONT, .passOn), (SIGURG, .passOn),
        (SIGIO, .passOn), (SIGPWR, .passOn),
    ]

    /// Returns the signals that the process was not started to ignore, each with its handler.
    static func followed(
        _ take: @escaping (Action, Int32) -> Void
    ) -> [(number: Int32, action: () -> Void)] {
        actions.filter { !ProcessSignals.isIgnored($0.0) }
            .map { number, action in (number, { take(action, number) }) }
    }
}

/// One run of `headgate worker`: a subscription, and a command for each batch.
private final class WorkerRun {
    private let order: WorkerOptions
    private let terminal: Terminal
    private let loop: EventLoop
    private let connection: ClientConnection
    private var signals: [LoopSignal] = []
    /// The running commands, by the order of their start.
    private var running: [Int: LoopProgram] = [:]
    private var started = 0
    /// Batches that wait for a command to end. The daemon keeps to the credit, but it does not know of commands that
    /// were started over an earlier connection.
    private var waiting: [(batch: DeliveredBatch, request: DaemonRequest)] = []
    /// True if the worker wants no more batches.
    private var isEnding = false
    /// True if the daemon sends no more batches.
    private var isUnsubscribed = false
    private var fault: (any Error)?

    init(_ order: WorkerOptions, _ invocation: Invocation) throws {
        self.order = order
        terminal = invocation.terminal
        loop = try EventLoop()
        connection = invocation.connection(on: loop, reconnectingFor: nil)
    }

    /// Runs until the worker is stopped, or the daemon refuses.
    func run() throws -> ExitCode {
        signals = try WorkerSignals.followed { [unowned self] action, number in take(action, number) }
            .map { try LoopSignal($0.number, on: loop, $0.action) }
        connection.subscribe(to: order.dispatcher, credit: order.credit, limit: order.limit) { [self] in take($0) }
        loop.run()
        signals = []
        if let fault { throw fault }
        return .success
    }

    private func take(_ news: SubscriptionNews) {
        switch news {
        case .began: return
        case .batch(let batch, let request):
            waiting.append((batch, request))
            workOn()
        case .interrupted:
            // The daemon sends the batches again over the next connection.
            waiting = []
            if !isEnding { terminal.printError("connection lost; reconnecting") }
        case .ended(let error):
            waiting = []
            if !isEnding { fail(error) }
        }
    }

    // MARK: Batches

    /// Starts commands for waiting batches, as many as the credit allows.
    private func workOn() {
        while running.count < order.credit, !waiting.isEmpty {
            let next = waiting.removeFirst()
            work(on: next.batch, next.request)
        }
    }

    private func work(on batch: DeliveredBatch, _ request: DaemonRequest) {
        let number = started
        started += 1
        do throws(TransportError) {
            running[number] = try LoopProgram(
                order.command, adding: variables(of: batch), input: try MemoryFile(batch.lines), on: loop
            ) { [self] end in
                running[number] = nil
                answer(request, end)
                workOn()
                stopIfDone()
            }
        } catch {
            // The batch gets no answer, so the daemon sends it again and charges no attempt.
            fail(error)
        }
    }

    private func variables(of batch: DeliveredBatch) -> [String: String] {
        [
            "HEADGATE_DISPATCHER": batch.dispatcher, "HEADGATE_BATCH": batch.id,
            "HEADGATE_ATTEMPT": String(batch.attempt),
        ]
    }

    private func answer(_ request: DaemonRequest, _ end: LoopProgram.End) {
        switch end {
        case .exited(0): request.settle()
        case .exited(let code): giveBack(request, "\(order.command[0]) ended with exit code \(code)")
        case .killed(let signal): giveBack(request, "\(order.command[0]) was ended by signal \(signal)")
        }
    }

    private func giveBack(_ request: DaemonRequest, _ cause: String) {
        terminal.printError(cause)
        request.giveBack(cause)
    }

    // MARK: The end

    private func take(_ action: WorkerSignals.Action, _ number: Int32) {
        switch action {
        case .passOn: passOn(number)
        case .end: interrupted(number)
        case .passOnAndEnd:
            if !isEnding { passOn(number) }
            interrupted(number)
        }
    }

    private func passOn(_ signal: Int32) {
        for program in running.values { program.signal(signal) }
    }

    /// Handles a stop signal. The first one lets running commands finish, and the second one ends them.
    private func interrupted(_ signal: Int32) {
        guard !isEnding else {
            for (_, request) in waiting { request.giveBack("the worker is ending") }
            waiting = []
            return passOn(signal)
        }
        isEnding = true
        connection.unsubscribe(from: order.dispatcher) { [self] in
            isUnsubscribed = true
            stopIfDone()
        }
    }

    private func stopIfDone() {
        if isUnsubscribed, running.isEmpty { stop() }
    }

    /// Ends the worker because of an error. Running commands get SIGTERM, because their results could not be reported.
    private func fail(_ error: any Error) {
        fault = fault ?? error
        waiting = []
        passOn(SIGTERM)
        stop()
    }

    private func stop() {
        isEnding = true
        connection.close()
        loop.stop()
    }
}
