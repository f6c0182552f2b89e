import Glibc

/// A sender of messages to the service manager (sd_notify(3)), which never waits for the manager. It lives on the
/// loop's thread.
///
/// A busy manager may not take messages for a moment. Messages about the service's state are kept and sent again in
/// order. Watchdog messages are not kept, because the next one follows soon.
public final class ServiceNotifier {
    private let address: NotifyAddress
    private var waiting: [String] = []
    private var retry: LoopTimer?

    /// The most waiting messages. The newest ones contain the present state, so older ones are dropped first.
    private static let mostWaiting = 16
    private static let retryDelay = Duration.milliseconds(100)

    /// Creates a notifier for the manager's socket.
    public init(to address: NotifyAddress, on loop: EventLoop) {
        self.address = address
        retry = LoopTimer(on: loop) { [weak self] in self?.sendWaiting() }
    }

    /// Sends a message about the service's state, given as lines.
    public func notify(_ lines: String...) {
        waiting.append(lines.joined(separator: "\n"))
        if waiting.count > ServiceNotifier.mostWaiting { waiting.removeFirst() }
        sendWaiting()
    }

    /// Sends a watchdog message, unless other messages are waiting.
    public func sendWatchdog() {
        guard waiting.isEmpty else { return }
        _ = send("WATCHDOG=1")
    }

    private func sendWaiting() {
        while let next = waiting.first {
            guard send(next) else {
                retry?.arm(after: ServiceNotifier.retryDelay)
                return
            }
            waiting.removeFirst()
        }
    }

    /// Sends one message.
    /// - Returns: false if the manager has no room for it now. A message to a manager that cannot be reached is
    ///   dropped.
    private func send(_ message: String) -> Bool {
        let kind = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let number = socket(AF_UNIX, Int32(kind), 0)
        guard number >= 0 else { return true }
        let descriptor = Descriptor(number)
        let bytes = Array(message.utf8)
        var count = 0
        repeat {
            count = address.withSystemAddress { sendto(descriptor.number, bytes, bytes.count, 0, $0, $1) }
        } while count < 0 && errno == EINTR
        return count >= 0 || ![EAGAIN, ENOBUFS].contains(errno)
    }
}
