import Glibc

/// Sends messages to the service manager (sd_notify(3)), and never waits for it. It lives on the loop's thread.
///
/// A manager that is busy does not take messages for a moment. Messages about the service's state are kept and sent again,
/// in their order; signs of life are not, because the next one is soon due.
public final class ServiceNotifier {
    private let address: NotifyAddress
    private var waiting: [String] = []
    private var retry: LoopTimer?

    /// The most messages that wait. The newest ones tell the state of the service, so that older ones are dropped first.
    private static let mostWaiting = 16
    private static let retryDelay = Duration.milliseconds(100)

    /// A notifier that sends to the manager's socket.
    public init(to address: NotifyAddress, on loop: EventLoop) {
        self.address = address
        retry = LoopTimer(on: loop) { [weak self] in self?.sendWaiting() }
    }

    /// Tells the manager of a change of the service's state: the lines of one message.
    public func tell(_ lines: String...) {
        waiting.append(lines.joined(separator: "\n"))
        if waiting.count > ServiceNotifier.mostWaiting { waiting.removeFirst() }
        sendWaiting()
    }

    /// Gives the manager a sign of life, unless messages wait already.
    public func giveSignOfLife() {
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
    /// - Returns: false if the manager has no room for it now. A manager that cannot be reached at all misses it.
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
