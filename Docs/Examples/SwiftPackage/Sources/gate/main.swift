// A server with a barrier of its own. It takes the arguments of `headgated`, and delivers nothing before it is told to by a
// SIGUSR1.
import Glibc
import HeadgateCore
import HeadgateServer
import HeadgateTransport

/// Holds whatever is behind it until a SIGUSR1 comes.
final class Doorkeeper: Barrier {
    @StateSubject(.closed) private var state: ObservableState<BarrierState>
    private var signal: LoopSignal?

    init(on loop: EventLoop) throws {
        signal = try LoopSignal(SIGUSR1, on: loop) { [weak self] in self?._state.value = .open }
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }
}

func serve(_ options: DaemonOptions) throws {
    let loop = try EventLoop()
    let server = Server(on: loop)
    let socket = try server.assumeIsolated { server in
        let doorkeeper = try Doorkeeper(on: loop)
        let environment = ["HOME": getenv("HOME").map { String(cString: $0) } ?? ""]
        var configuration = ServerConfiguration(options: options, environment: environment, userID: geteuid())
        configuration.onStart = { $0.gate.registerScopedBarrier(doorkeeper, scopes: [.all]) }
        return try server.start(configuration)
    }
    let stop = try LoopSignal(SIGTERM, on: loop) {
        server.assumeIsolated { $0.stop { loop.stop() } }
    }
    print("gate ready \(socket ?? "")")
    fflush(nil)
    withExtendedLifetime(stop) { loop.run() }
}

do {
    guard case .run(let options) = try DaemonCommand.parse(Array(CommandLine.arguments.dropFirst())) else { exit(2) }
    try serve(options)
} catch {
    print("gate: \(error)")
    exit(1)
}
