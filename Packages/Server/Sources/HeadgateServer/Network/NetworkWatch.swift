import HeadgateCore
import HeadgateTransport

/// Watches the machine's network: the kernel tells what changes, and nothing is polled (Behaviour B21).
final class NetworkWatch {
    private let loop: EventLoop
    private let socket: NetlinkSocket
    private let messages: NetlinkMessages
    private let onEvent: (NetworkState) -> Void
    private var watch: DescriptorWatch?
    private var retry: LoopTimer?
    private var inquiry = NetlinkInquiry()
    private var table: NetworkTable
    /// The table as it was when its state was last told.
    private var told: NetworkTable?

    /// - Parameter onEvent: told the state as soon as it is known, which is mostly before this returns, and again whenever
    ///   an interface, an address of global scope or a default route has changed, even if the state has not.
    /// - Returns: nil where the kernel does not tell.
    init?(
        on loop: EventLoop, requiresDefaultRoute: Bool, kinds: InterfaceKinds,
        onEvent: @escaping (NetworkState) -> Void
    ) {
        guard let socket = NetlinkSocket() else { return nil }
        self.loop = loop
        self.socket = socket
        self.onEvent = onEvent
        messages = NetlinkMessages(kind: kinds.kind)
        table = NetworkTable(requiresDefaultRoute: requiresDefaultRoute)
        retry = LoopTimer(on: loop) { [weak self] in self?.readAll() }
        listen()
        guard watch != nil else { return nil }
        startOver()
        readAll()
    }

    deinit {
        // Before the descriptor that it watches.
        watch = nil
    }

    private func listen() {
        watch = nil
        watch = try? DescriptorWatch(readable: socket.descriptor, on: loop) { [weak self] in self?.readAll() }
    }

    // MARK: Asking

    /// Everything is asked for again. What was told stays true until it is known better.
    private func startOver() {
        for list in NetworkList.allCases { inquiry.want(list) }
    }

    /// Asks for the next list, if one is wanted.
    /// - Returns: whether there is an answer to read.
    private func ask() -> Bool {
        guard retry?.deadline == nil, let (list, number) = inquiry.next() else { return false }
        table.forget(list)
        guard !socket.request(list, number: number) else { return true }
        refused(number)
        return false
    }

    private func refused(_ number: UInt32) {
        guard inquiry.refused(number) else { return }
        retry?.arm(after: NetworkWatch.pauseAfterRefusal)
    }

    // MARK: Reading

    private func readAll() {
        // What is left after so many calls again: others on the loop have their turn in between.
        for _ in 0..<NetworkWatch.mostReads {
            switch socket.read() {
            case .datagram(let datagram): messages.read(datagram).forEach(take)
            case .overrun: recover()
            // Only now: what is still to be read is older than the answer would be.
            case .nothing: if !ask() { return tell() }
            }
        }
        tell()
    }

    private func take(_ message: NetlinkMessage) {
        switch message {
        case .fact(let fact):
            table.take(fact)
            if table.doubtsRoutes { inquiry.want(.routes) }
        case .listEnded(let number): inquiry.ended(number)
        case .listInterrupted(let number): inquiry.interrupted(number)
        case .listRefused(let number): refused(number)
        case .garbled:
            startOver()
            // The same could come again and again.
            retry?.arm(after: NetworkWatch.pauseAfterRefusal)
        }
    }

    /// The kernel could not tell all.
    private func recover() {
        startOver()
        // libuv no longer watches a socket that has had an error.
        listen()
    }

    private func tell() {
        guard inquiry.isComplete, table != told else { return }
        told = table
        onEvent(table.state)
    }

    private static let mostReads = 256
    private static let pauseAfterRefusal = Duration.seconds(1)
}
