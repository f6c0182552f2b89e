import Glibc
import HeadgateTransport

/// The service manager that started the daemon, if it wants notifications (sd_notify(3)).
struct ServiceManager {
    private let watchdogInterval: Duration?
    private let notifier: ServiceNotifier?

    init(environment: [String: String], on loop: EventLoop) {
        let requested = ServiceNotification(for: getpid()) { environment[$0] }
        watchdogInterval = requested.watchdogInterval
        notifier = requested.address.map { ServiceNotifier(to: $0, on: loop) }
    }

    /// Reports that the daemon serves clients.
    func notifyReady(socket: String) {
        notifier?.notify("READY=1", "STATUS=Serving \(socket)")
    }

    /// Reports that the settings are being read again. ``notifyReady(socket:)`` reports the end.
    func notifyReloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        notifier?.notify("RELOADING=1", "MONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000)")
    }

    /// Reports that the daemon stops, and may take time to finish its batches.
    func notifyStopping() {
        notifier?.notify("STOPPING=1", "STATUS=Finishing batches in flight")
    }

    /// Starts to report at intervals that the loop still runs, if the manager wants it.
    /// - Returns: the watchdog, which works as long as it is retained.
    func startWatchdog(on loop: EventLoop) -> Watchdog? {
        guard let watchdogInterval, let notifier else { return nil }
        return Watchdog(every: watchdogInterval, on: loop) { notifier.sendWatchdog() }
    }
}

/// A timer that calls a closure at intervals, as long as the loop runs.
final class Watchdog {
    private let interval: Duration
    private let notify: () -> Void
    private var timer: LoopTimer?

    init(every interval: Duration, on loop: EventLoop, _ notify: @escaping () -> Void) {
        self.interval = interval
        self.notify = notify
        timer = LoopTimer(on: loop) { [weak self] in self?.bark() }
        timer?.arm(after: interval)
    }

    private func bark() {
        notify()
        timer?.arm(after: interval)
    }
}
