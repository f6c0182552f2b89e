import Glibc
import HeadgateServer
import HeadgateTransport

/// The main program of `headgated`: it starts the daemon, serves until a signal arrives, and stops the daemon in order.
struct Daemon {
    let options: DaemonOptions
    let environment: [String: String]

    /// Runs until the daemon has stopped.
    /// - Returns: the exit code.
    func run() -> Int32 {
        var server: Server?
        do {
            let loop = try EventLoop()
            let new = Server(on: loop)
            server = new
            try serve(new, on: loop)
            return 0
        } catch {
            report(error, server)
            return 1
        }
    }

    private func report(_ error: any Error, _ server: Server?) {
        let isLogged = server?.assumeIsolated { $0.logFailure(error) } ?? false
        guard !isLogged else { return }
        for line in "\(error)".split(separator: "\n") { Terminal.log("headgated: \(line)") }
    }

    private func serve(_ server: Server, on loop: EventLoop) throws {
        // Nothing is in flight before the loop runs, so a stop during the start may exit at once.
        ProcessSignals.exit(on: Daemon.stopSignals)
        Self.raiseDescriptorLimit()
        let opened = try server.assumeIsolated { server in
            try server.start(
                ServerConfiguration(
                    options: options, environment: environment, userID: geteuid(),
                    inherited: SocketActivation.descriptors))
        }
        // The daemon always has a socket, opened or inherited.
        let socket = opened ?? ""
        let manager = ServiceManager(environment: environment, on: loop)
        let signals = try followSignals(server, loop, manager, socket)
        let watchdog = manager.startWatchdog(on: loop)
        Terminal.log("headgated ready \(socket)")
        manager.notifyReady(socket: socket)
        withExtendedLifetime((signals, watchdog)) { loop.run() }
    }

    private static let stopSignals = [SIGTERM, SIGINT]

    private static func exitAtOnce() -> Never {
        _ = LineOutput.standardError.drain(atMost: 1_000)
        _exit(1)
    }

    /// Raises the limit of descriptors to the hard limit. The lower soft limit exists only for programs that use
    /// `select`.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    private func followSignals(
        _ server: Server, _ loop: EventLoop, _ manager: ServiceManager, _ socket: String
    ) throws -> [LoopSignal] {
        let stop = try Daemon.stopSignals.map { signal in
            try LoopSignal(signal, on: loop) {
                manager.notifyStopping()
                server.assumeIsolated { server in
                    server.stop { isComplete in
                        // Acknowledged events are on the disk, but a thread hangs in a call to the disk and would block
                        // a normal exit. So the process exits at once.
                        if !isComplete { Daemon.exitAtOnce() }
                        loop.stop()
                    }
                }
            }
        }
        let reload = try LoopSignal(SIGHUP, on: loop) {
            manager.notifyReloading()
            server.assumeIsolated { $0.reload() }
            manager.notifyReady(socket: socket)
        }
        return stop + [reload]
    }
}
