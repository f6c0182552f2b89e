import Glibc
import HeadgateTransport

/// The service manager that started the daemon, if it wants to be told how things go (sd_notify(3)).
struct ServiceManager {
    private let wishes: ServiceNotification

    init(environment: [String: String]) {
        wishes = ServiceNotification(for: getpid()) { environment[$0] }
    }

    /// Clients are served now.
    func tellReady(socket: String) {
        tell("READY=1", "STATUS=Serving \(socket)")
    }

    /// The settings are being read again; `tellReady` ends that.
    func tellReloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        tell("RELOADING=1", "MONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000)")
    }

    /// The daemon stops, and may take its time to finish what is in flight.
    func tellStopping() {
        tell("STOPPING=1", "STATUS=Finishing what is in flight")
    }

    /// Tells again and again that the loop still turns, if the manager restarts a daemon of which it hears nothing.
    /// - Returns: to be held as long as that is to go on.
    func startWatchdog(on loop: EventLoop) -> Watchdog? {
        wishes.watchdogInterval.map { interval in
            Watchdog(every: interval, on: loop) { tell("WATCHDOG=1") }
        }
    }

    /// A manager that cannot be reached misses it: the daemon goes on without.
    private func tell(_ lines: String...) {
        guard let address = wishes.address else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Array(lines.joined(separator: "\n").utf8)
        address.withSystemAddress { address, size in
            _ = sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), address, size)
        }
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
