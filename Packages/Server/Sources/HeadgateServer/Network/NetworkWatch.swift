import CNetlink
import HeadgateCore
import HeadgateTransport

/// Watches the machine's network: the kernel tells what changes, and nothing is polled (Behaviour B21).
final class NetworkWatch {
    private let loop: EventLoop
    private let socket: NetlinkSocket
    private let messages: NetlinkMessages
    private let onEvent: (NetworkState) -> Void
    private var watch: DescriptorWatch?
    private var table: NetworkTable
    /// The lists that are still to be asked for, the one under way first. The state is unknown until all are in.
    private var lists: [Int32] = []

    private static let allLists = [Int32(RTM_GETLINK), Int32(RTM_GETADDR), Int32(RTM_GETROUTE)]

    /// - Parameter onEvent: told the state once it is known, and after each event, changed or not.
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
        watch = try? DescriptorWatch(readable: socket.descriptor, on: loop) { [weak self] in self?.readAll() }
        guard watch != nil else { return nil }
        startOver()
    }

    /// Asks for everything again. What was told stays true until it is known better.
    private func startOver() {
        table = NetworkTable(requiresDefaultRoute: table.requiresDefaultRoute)
        lists = NetworkWatch.allLists
        ask()
    }

    private func ask() {
        guard let list = lists.first else { return }
        _ = socket.request(list)
    }

    private func readAll() {
        var hasNews = false
        while true {
            switch socket.read() {
            case .datagram(let datagram): hasNews = take(messages.read(datagram)) || hasNews
            case .overrun: startOver()
            case .nothing:
                if hasNews, lists.isEmpty { onEvent(table.state) }
                return
            }
        }
    }

    /// - Returns: whether something may have changed.
    private func take(_ reading: NetlinkMessages.Reading) -> Bool {
        reading.facts.forEach { table.take($0) }
        if reading.hasGaps { startOver() }
        guard reading.isListDone, !lists.isEmpty else { return !reading.facts.isEmpty }
        lists.removeFirst()
        ask()
        return true
    }
}
