import HeadgateCore
import HeadgateTransport

/// Watches the machine's network: the kernel tells what changes, and nothing is polled (Behaviour B21).
final class NetworkWatch {
    private let loop: EventLoop
    private let socket: any NetlinkReading
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
        for _ in 0..<NetworkWatch.mostReads {
            switch socket.read() {
            case .datagram(let datagram): messages.read(datagram).forEach(take)
            case .overrun: recover()
            // Only now: what is still to be read is older than the answer would be.
            case .nothing: if !ask() { return tell() }
            }
        }
        // Others on the loop have their turn in between. The socket would not call for that: it may be empty by now, and
        // what has to be asked for not be asked yet.
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

    /// How many datagrams are read in one turn.
    static let mostReads = 256
    private static let pauseAfterRefusal = Duration.seconds(1)
}

/// Which of the kernel's lists are still to be had. They are asked for one at a time, since the kernel answers a second
/// question only when it is done with the first. Pure.
struct NetlinkInquiry {
    private var wanted: Set<NetworkList> = []
    private var underWay: (list: NetworkList, number: UInt32)?
    private var lastNumber: UInt32 = 0

    /// Whether every list is in, as far as is known.
    var isComplete: Bool { wanted.isEmpty && underWay == nil }

    /// A list has to be asked for, again if it is under way.
    mutating func want(_ list: NetworkList) {
        wanted.insert(list)
    }

    /// The next list to ask for, and the number to do so under; nil while another is under way, or when none is left.
    mutating func next() -> (list: NetworkList, number: UInt32)? {
        guard underWay == nil, let list = NetworkList.allCases.first(where: wanted.contains) else { return nil }
        wanted.remove(list)
        lastNumber &+= 1
        underWay = (list, lastNumber)
        return underWay
    }

    /// A list is at its end. Numbers that are not under way mean nothing.
    mutating func ended(_ number: UInt32) {
        if underWay?.number == number { underWay = nil }
    }

    /// A list that goes on will not be whole: it is asked for once more.
    mutating func interrupted(_ number: UInt32) {
        guard let underWay, underWay.number == number else { return }
        want(underWay.list)
    }

    /// The kernel refused a list, which is still wanted.
    /// - Returns: whether this was the one under way.
    mutating func refused(_ number: UInt32) -> Bool {
        guard underWay?.number == number else { return false }
        interrupted(number)
        underWay = nil
        return true
    }
}
