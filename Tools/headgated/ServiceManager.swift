import Glibc
import HeadgateTransport

/// The service manager that started the daemon, if it wants to be told how things go (sd_notify(3)).
struct ServiceManager {
    private let watchdogInterval: Duration?
    private let notifier: ServiceNotifier?

    init(environment: [String: String], on loop: EventLoop) {
        let wishes = ServiceNotification(for: getpid()) { environment[$0] }
        watchdogInterval = wishes.watchdogInterval
        notifier = wishes.address.map { ServiceNotifier(to: $0, on: loop) }
    }

    /// Clients are served now.
    func tellReady(socket: String) {
        notifier?.tell("READY=1", "STATUS=Serving \(socket)")
    }

    /// The settings are being read again; `tellReady` ends that.
    func tellReloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        notifier?.tell("RELOADING=1", "MONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000)")
    }

    /// The daemon stops, and may take its time to finish what is in flight.
    func tellStopping() {
        notifier?.tell("STOPPING=1", "STATUS=Finishing what is in flight")
    }

    /// Tells again and again that the loop still turns, if the manager restarts a daemon that gives no sign of life.
    /// - Returns: the watchdog, which works as long as it is held.
    func startWatchdog(on loop: EventLoop) -> Watchdog? {
        guard let watchdogInterval, let notifier else { return nil }
        return Watchdog(every: watchdogInterval, on: loop) { notifier.giveSignOfLife() }
    }
}

/// Calls again and again, as long as the loop turns.
final class Watchdog {
    private let interval: Duration
    private let tell: () -> Void
    private var timer: LoopTimer?

    init(every interval: Duration, on loop: EventLoop, _ tell: @escaping () -> Void) {
        self.interval = interval
        self.tell = tell
        timer = LoopTimer(on: loop) { [weak self] in self?.bark() }
        timer?.arm(after: interval)
    }

    private func bark() {
        tell()
        timer?.arm(after: interval)
    }
}
