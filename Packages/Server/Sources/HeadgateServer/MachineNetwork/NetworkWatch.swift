import HeadgateCore
import HeadgateTransport

/// A watch of the machine's network. The kernel reports changes; the watch does not poll (Behaviour B21).
final class NetworkWatch {
    private let loop: EventLoop
    private let socket: any NetlinkReading
    private let messages: NetlinkMessages
    private let onEvent: (NetworkState) -> Void
    private var watch: DescriptorWatch?
    private var retry: LoopTimer?
    private var inquiry = NetlinkInquiry()
    private var table: NetworkTable
    /// The table at the last report.
    private var reported: NetworkTable?

    /// Starts to watch.
    /// - Parameter onEvent: called with the state as soon as it is known, usually before this returns. It is called
    ///   again after each change of an interface, an address of global scope or a default route, even if the state is
    ///   the same.
    /// - Returns: nil if the kernel does not report on the network.
    init?(
        on loop: EventLoop, requiresDefaultRoute: Bool, kinds: InterfaceKinds,
        socket: (any NetlinkReading)? = NetlinkSocket(), onEvent: @escaping (NetworkState) -> Void
    ) {
        guard let socket else { return nil }
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
        // The watch must end before the socket closes its descriptor.
        watch = nil
    }

    private func listen() {
        watch = nil
        watch = try? DescriptorWatch(readable: socket.descriptor, on: loop) { [weak self] in self?.readAll() }
    }

    // MARK: Requests

    /// Requests all lists again. The last reported state stays valid until all lists have arrived.
    private func startOver() {
        for list in NetworkList.allCases { inquiry.want(list) }
    }

    /// Requests the next list, if one is wanted, no request is open, and no pause is running.
    /// - Returns: true if there is an answer to read.
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
        for _ in 0..<NetworkWatch.mostReads {
            switch socket.read() {
            case .datagram(let datagram): messages.read(datagram).forEach(take)
            case .overrun: recover()
            // The request comes last, because unread messages are older than the answer.
            case .nothing: if !ask() { return report() }
            }
        }
        // The other datagrams are read in the next turn, so that other work of the loop runs. The next call must be
        // scheduled: no event would come if the socket were empty and a request not yet sent.
        loop.atEndOfNextTurn { [weak self] in self?.readAll() }
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
            // The answer could be such a datagram again, so the next request is delayed.
            retry?.arm(after: NetworkWatch.pauseAfterRefusal)
        }
    }

    /// Recovers from lost messages.
    private func recover() {
        startOver()
        // libuv stops watching a socket after an error.
        listen()
    }

    private func report() {
        guard inquiry.isComplete, table != reported else { return }
        reported = table
        onEvent(table.state)
    }

    /// The most datagrams that are read in one turn.
    static let mostReads = 256
    private static let pauseAfterRefusal = Duration.seconds(1)
}

/// The kernel's lists that are still to be read. The lists are requested one at a time, because the kernel answers one
/// request after another. A pure value.
struct NetlinkInquiry {
    private var requested: Set<NetworkList> = []
    private var inProgress: (list: NetworkList, number: UInt32)?
    private var lastNumber: UInt32 = 0

    /// A Boolean value that says whether every wanted list has arrived.
    var isComplete: Bool { requested.isEmpty && inProgress == nil }

    /// Requests a list, again if it is already being read.
    mutating func want(_ list: NetworkList) {
        requested.insert(list)
    }

    /// Returns the next list to request and its number, or nil if a request is open or no list is wanted.
    mutating func next() -> (list: NetworkList, number: UInt32)? {
        guard inProgress == nil, let list = NetworkList.allCases.first(where: requested.contains) else { return nil }
        requested.remove(list)
        lastNumber &+= 1
        inProgress = (list, lastNumber)
        return inProgress
    }

    /// Ends a list. Numbers of no open request are ignored.
    mutating func ended(_ number: UInt32) {
        if inProgress?.number == number { inProgress = nil }
    }

    /// Requests a list again, because it changed while the kernel sent it.
    mutating func interrupted(_ number: UInt32) {
        guard let inProgress, inProgress.number == number else { return }
        want(inProgress.list)
    }

    /// Ends a request that the kernel refused. The list is still wanted.
    /// - Returns: true if the request was open.
    mutating func refused(_ number: UInt32) -> Bool {
        guard inProgress?.number == number else { return false }
        interrupted(number)
        inProgress = nil
        return true
    }
}
