import HeadgateCore
import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests boards that the embedding program serves and activates.
@Suite("Boards of an embedding program", .timeLimit(.minutes(5)))
struct ProgramBoardTests {
    @Test("A1: a client activates a board that the program serves, and gets the program's answer")
    func served() async throws {
        let adding = starting { boards in
            try boards.serve("checkout") {
                $0.complete(output: ["of": .string($0.run.mainboard), "gave": $0.run.input])
            }
            try boards.serve("closed") { $0.complete(false) }
            try boards.serve("broken") { $0.fail(ActivationFault(message: "no paper")) }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            let id = await client.activate("checkout", ["input": ["n": 1], "mainboard": "shop"])
            #expect(try await client.answer(to: id).json == #"{"done":true,"output":{"of":"shop","gave":{"n":1}}}"#)
            #expect(try await client.answer(to: client.activate("closed")).json == #"{"done":false}"#)
            let refusal = try await client.error(to: client.activate("broken"))
            #expect(refusal.reason == "cancelled" && refusal.data["cause"] == "refused")
            #expect(try await stage.inspect { $0.boards.isIdle })
        }
    }

    @Test("A1: the program activates a client's board, and gets its outcome")
    func activated() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.serve("checkout")
            async let outcome = stage.outcome(of: "checkout", input: ["n": 1])
            let params = try await client.runNext(["done": true, "output": 7])
            #expect(params["input"] == ["n": 1] && params["mainboard"] == "program" && params["as_barrier"] == false)
            #expect(try await outcome == .completed(done: true, output: 7))
            #expect(try await stage.outcome(of: "nothing") == .notServed)
        }
    }

    @Test("A1: if the program withdraws its board during a run, the run is cancelled and fails with provider_lost")
    func withdrawn() async throws {
        let runs = Runs()
        try await ServiceStage.run(adding: starting { try runs.hold("checkout", $0) }) { stage in
            let client = try await stage.client()
            let id = await client.activate("checkout")
            try await runs.began()
            try await stage.inspect { _ in runs.board?.withdraw() }
            #expect(try await client.error(to: id).reason == "provider_lost")
            #expect(try await client.error(to: client.activate("checkout")).reason == "not_found")
            #expect(try await stage.inspect { _ in runs.cancelled } == 1)
            #expect(try await stage.inspect { $0.boards.isIdle })
        }
    }

    @Test("A1: a program's board that is no longer served finishes its run")
    func unserved() async throws {
        let runs = Runs()
        try await ServiceStage.run(adding: starting { try runs.hold("checkout", $0) }) { stage in
            let client = try await stage.client()
            let id = await client.activate("checkout")
            try await runs.began()
            try await stage.inspect { _ in runs.board?.unserve() }
            #expect(try await client.error(to: client.activate("checkout")).reason == "not_found")
            try await stage.inspect { _ in runs.task?.complete() }
            #expect(try await client.answer(to: id)["done"] == true)
            try await stage.inspect { _ in runs.task = nil }
            #expect(try await stage.inspect { $0.boards.isIdle })
        }
    }

    @Test(
        "A1, A5: an activation that takes too long ends with timeout, its run is cancelled, and a late answer is ignored"
    )
    func timeout() async throws {
        let runs = Runs()
        try await ServiceStage.run(adding: starting { try runs.hold("checkout", $0) }) { stage in
            let client = try await stage.client()
            let id = await client.activate("checkout", ["timeout_ms": 50])
            try await runs.began()
            #expect(try await client.error(to: id).reason == "timeout")
            #expect(try await stage.inspect { _ in runs.cancelled } == 1)
            try await stage.inspect { _ in runs.task?.complete() }
            let second = await client.activate("checkout")
            try await runs.began()
            try await stage.inspect { _ in runs.task?.complete(false) }
            #expect(try await client.answer(to: second)["done"] == false)
        }
    }

    @Test("A1: a run that the program releases without an answer fails at once")
    func forgotten() async throws {
        try await ServiceStage.run(adding: starting { try $0.serve("checkout") { _ in } }) { stage in
            let client = try await stage.client()
            let refusal = try await client.error(to: client.activate("checkout", ["timeout_ms": 3_600_000]))
            #expect(refusal.reason == "cancelled" && refusal.data["cause"] == "refused")
        }
    }

    @Test("A6: a barrier that the program withdraws is taken over by a client")
    func takenOver() async throws {
        let runs = Runs()
        let adding = starting { boards in
            try runs.hold("login", boards)
            try boards.serve("checkout", behind: ActivationBarrier(board: "login")) { $0.complete() }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let (client, other) = (try await stage.client(), try await stage.client())
            try await other.serve("login")
            let id = await client.activate("checkout")
            try await runs.began()
            try await stage.inspect { _ in runs.board?.withdraw() }
            #expect(try await other.runNext()["as_barrier"] == true)
            #expect(try await client.answer(to: id)["done"] == true)
        }
    }

    @Test("A1: a Swift task may run a board; it is cancelled with the activation, and its error fails the activation")
    func tasks() async throws {
        let adding = starting { boards in
            try boards.answer("double") { run in
                guard case .number(let number) = run.input else { throw Missing(what: "a number") }
                return BoardResult(done: true, output: .array([.number(number), .number(number)]))
            }
            try boards.answer("sleep") { _ in
                try await Task.sleep(for: .seconds(86_400))
                return BoardResult(done: true)
            }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            let id = await client.activate("double", ["input": 2])
            #expect(try await client.answer(to: id)["output"] == [2, 2])
            #expect(try await client.error(to: client.activate("double")).reason == "cancelled")
            let slow = await client.activate("sleep", ["timeout_ms": 50])
            #expect(try await client.error(to: slow).reason == "timeout")
        }
    }

    @Test(
        "A2, A8: a program cannot serve a board with an invalid name, a cycle or a barrier that differs from another server's"
    )
    func refused() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.serve("login", behind: ["board": "checkout"])
            try await stage.inspect { service in
                let boards = service.programBoards
                #expect(throws: BoardRefusal.serving(.cycle(["checkout", "login", "checkout"]))) {
                    try boards.serve("checkout", behind: ActivationBarrier(board: "login")) { _ in }
                }
                #expect(throws: BoardRefusal.serving(.differs)) { try boards.serve("login") { _ in } }
                #expect(throws: BoardRefusal.self) { try boards.serve("a*") { _ in } }
            }
        }
    }

    @Test("A1, D11: the program can cancel its activations, and a stop of the server cancels the others")
    func cancelled() async throws {
        let outcomes = Outcomes()
        try await ServiceStage.run { stage in
            try await stage.inspect { service in
                let activation = service.programBoards.activate("login", wait: nil) { outcomes.add($0) }
                activation.dispose()
                activation.dispose()
                _ = service.programBoards.activate("login", wait: nil) { outcomes.add($0) }
            }
            // The outcome is reported at the end of a turn.
            try await stage.until { _ in !outcomes.all.isEmpty }
            #expect(try await stage.inspect { _ in outcomes.all } == [.withdrawn])
        }
        #expect(outcomes.all == [.withdrawn, .withdrawn])
    }

    @Test("A1: a cancelled task cancels its activation")
    func cancelledTask() async throws {
        let embedded = try await Embedded.start()
        let server = embedded.server
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await server.activate("nobody", wait: nil)
        }
        #expect(await early.value == .withdrawn)
        let late = Task { await server.activate("nobody", wait: nil) }
        while await !server.isWaiting { await Task.yield() }
        late.cancel()
        #expect(await late.value == .withdrawn)
        #expect(await server.activate("nobody") == .notServed)
        await embedded.end()
        #expect(await server.activate("nobody", wait: nil) == .withdrawn)
    }

    @Test("A9: a dispatcher waits for its activation barrier, which the program serves")
    func dispatcher() async throws {
        let settings: DataObject = ["dispatchers": ["collect": ["activation_barrier": ["board": "login"]]]]
        let runs = Runs()
        try await ServiceStage.run(settings, adding: starting { try runs.hold("login", $0) }) { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "sale"])
            try await runs.began()
            #expect(try await client.listedDispatcher("collect")["sent"] == 0)
            try await stage.inspect { _ in runs.task?.complete() }
            #expect(try await stage.events(of: "collect", after: client).count == 1)
        }
    }

    // MARK: Gateways

    @Test("A7: a program's gateway runs before every board that the program does not exempt")
    func gateway() async throws {
        let adding: ServiceStage.Adding = {
            $0.setGateway(.barrier(ActivationBarrier(board: "login")), before: "*")
            $0.setGateway(.exempt, before: "pub.*")
            $0.onStart = { started in
                try started.boards.serve("login") { $0.complete($0.run.input == "secret") }
                for board in ["pub.welcome", "checkout"] { try started.boards.serve(board) { $0.complete() } }
            }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            #expect(try await client.answer(to: client.activate("pub.welcome"))["done"] == true)
            let refusal = try await client.error(to: client.activate("checkout"))
            #expect(refusal.data["barrier"] == "login" && refusal.data["cause"] == "refused")
            #expect(try await client.answer(to: client.activate("checkout", ["input": "secret"]))["done"] == true)
            let rules = try await client.call("config.get", ["layer": "programmatic"])["gateway"]["rules"]
            #expect(rules["*"]["board"] == "login" && rules["pub.*"] == "exempt")
        }
    }

    @Test(
        "S1, A7: a program's gateway overrides the file's, config.set overrides both, and a reload changes nothing"
    )
    func layers() async throws {
        let adding: ServiceStage.Adding = { $0.setGateway(.exempt, before: "checkout") }
        let rules: DataObject = ["checkout": ["board": "login"], "till": ["board": "login"]]
        try await ServiceStage.run(["gateway": ["rules": .object(rules)]], adding: adding) { stage in
            let client = try await stage.client()
            let server = try await stage.client()
            try await server.serve("checkout")
            try await server.serve("till")
            try await client.call("config.reload")
            let exempted = await client.activate("checkout")
            try await server.runNext()
            #expect(try await client.answer(to: exempted)["done"] == true)
            #expect(try await client.error(to: client.activate("till")).data["cause"] == "provider_lost")
            let patch: DataItem = ["gateway": ["rules": ["checkout": ["board": "login"]]]]
            try await client.call("config.set", ["patch": patch])
            #expect(try await client.error(to: client.activate("checkout")).data["cause"] == "provider_lost")
        }
    }

    @Test(
        "A8, S2: gateways of a program in a cycle, or with an invalid pattern, fail the start with their path"
    )
    func faultyGateways() throws {
        var configuration = ServerConfiguration(options: DaemonOptions(), environment: ["HOME": "/tmp"], userID: 0)
        configuration.setGateway(.barrier(ActivationBarrier(board: "a")), before: "b")
        configuration.setGateway(.barrier(ActivationBarrier(board: "b")), before: "a")
        configuration.setGateway(.exempt, before: "a*b")
        let fault = #expect(throws: StartFault.self) { try configuration.load() }
        #expect(fault?.description.contains("gateway.rules: the gateways wait for each other in a circle") == true)
        #expect(fault?.description.contains("gateway.rules.a*b: ") == true)
    }

    @Test("A7: a program's gateway is written to the settings with all members, and is read back equal")
    func written() throws {
        var barrier = ActivationBarrier(board: "login")
        (barrier.option, barrier.scope, barrier.onTimeout) = (.unique, .global, .pass)
        (barrier.timeout, barrier.sticky) = (.milliseconds(1_234), .seconds(7))
        for rule in [GatewayRules.Rule.barrier(barrier), .barrier(ActivationBarrier(board: "b")), .exempt] {
            var configuration = ServerConfiguration(options: DaemonOptions(), environment: [:], userID: 0)
            configuration.setGateway(rule, before: "x*")
            let pattern = try #require(GatewayPattern("x*"))
            #expect(Settings.read(configuration.settings).settings?.gateways == GatewayRules([pattern: rule]))
        }
    }

    // MARK: Settings

    @Test(
        "S1: a program's settings need no file; if they have no dispatcher, the default one exists",
        arguments: [true, false])
    func defaultsWithoutFile(hasDispatchers: Bool) throws {
        var configuration = ServerConfiguration(options: DaemonOptions(), environment: ["HOME": "/tmp"], userID: 0)
        configuration.settings["durability"] = "memory"
        if hasDispatchers { configuration.settings["dispatchers"] = ["till": ["kind": "worker"]] }
        let loaded = try configuration.load()
        #expect(loaded.settings.durability == .memory)
        #expect(loaded.settings.dispatchers.map(\.id) == (hasDispatchers ? ["till"] : ["collect"]))
    }

    private func starting(_ body: @escaping @Sendable (ProgramBoards) throws -> Void) -> ServiceStage.Adding {
        { $0.onStart = { try body($0.boards) } }
    }
}

/// A board whose runs the test answers. It is used on the service's loop only, except for the stream of begun runs.
private final class Runs: @unchecked Sendable {
    private(set) var board: ProgramBoard?
    var task: BoardTask?
    private(set) var cancelled = 0
    private let (beginnings, beginning) = AsyncStream.makeStream(of: Void.self)

    func hold(_ board: String, _ boards: ProgramBoards) throws {
        self.board = try boards.serve(board) { [self] task in
            task.onCancel = { [unowned self] in cancelled += 1 }
            self.task = task
            beginning.yield()
        }
    }

    /// Waits for the next run to begin.
    func began() async throws {
        for await _ in beginnings { return }
        throw Missing(what: "a run")
    }
}

/// The outcomes of activations. They are added on the service's loop, and read there or after its end.
private final class Outcomes: @unchecked Sendable {
    private(set) var all: [ActivationOutcome] = []

    func add(_ outcome: ActivationOutcome) {
        all.append(outcome)
    }
}

extension ServiceStage {
    /// Activates a board as the embedding program does.
    fileprivate func outcome(of board: String, input: DataItem = .null) async throws -> ActivationOutcome {
        await withCheckedContinuation { continuation in
            do {
                try inspect {
                    _ = $0.programBoards.activate(board, input: input) { continuation.resume(returning: $0) }
                }
            } catch {
                continuation.resume(returning: .failed(ActivationFault(message: "\(error)")))
            }
        }
    }
}

/// A complete server on a loop of its own, as a program embeds it.
private struct Embedded {
    let server: Server
    private let loop: EventLoop
    private let folder: ScratchFolder

    static func start() async throws -> Embedded {
        let folder = try ScratchFolder()
        let loop = try EventLoop.onNewThread(named: "test-server")
        let server = Server(on: loop)
        try await server.start(in: folder)
        return Embedded(server: server, loop: loop, folder: folder)
    }

    func end() async {
        await withCheckedContinuation { continuation in
            Task { await server.stop { continuation.resume() } }
        }
        loop.stop()
        await loop.waitUntilClosed()
    }
}

extension Server {
    fileprivate var isWaiting: Bool { service?.boards.isIdle == false }

    fileprivate func start(in folder: ScratchFolder) throws {
        let options = DaemonOptions(socket: folder("headgate.sock"), dataDirectory: folder("data"))
        var configuration = ServerConfiguration(options: options, environment: [:], userID: 0)
        configuration.settings = ["durability": "memory"]
        try start(configuration)
    }
}
