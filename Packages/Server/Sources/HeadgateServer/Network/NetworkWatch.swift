import CNetlink
import HeadgateCore
import HeadgateTransport

/// Watches the machine's network: the kernel tells what changes, and nothing is polled (Behaviour B21).
final class NetworkWatch {
    private let loop: EventLoop
    private let socket: NetlinkSocket
    private let messages: NetlinkMessages
    private let onChange: (NetworkState) -> Void
    private var watch: DescriptorWatch?
    private var table: NetworkTable
    /// The lists that are still to be asked for, the one under way first. The state is unknown until all are in.
    private var lists: [Int32] = []
    private var told: NetworkState?

    private static let allLists = [Int32(RTM_GETLINK), Int32(RTM_GETADDR), Int32(RTM_GETROUTE)]

    /// - Parameter onChange: told the state once it is known, and each time that it changes.
    /// - Returns: nil where the kernel does not tell.
    init?(
        on loop: EventLoop, requiresDefaultRoute: Bool, kinds: InterfaceKinds,
        onChange: @escaping (NetworkState) -> Void
    ) {
        guard let socket = NetlinkSocket() else { return nil }
        self.loop = loop
        self.socket = socket
        self.onChange = onChange
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
        guard let list = lists.first else { return tell() }
        _ = socket.request(list)
    }

    private func readAll() {
        while true {
            switch socket.read() {
            case .datagram(let datagram): take(messages.read(datagram))
            case .overrun: startOver()
            case .nothing: return tell()
            }
        }
    }

    private func take(_ reading: NetlinkMessages.Reading) {
        reading.facts.forEach { table.take($0) }
        if reading.hasGaps { return startOver() }
        guard reading.isListDone, !lists.isEmpty else { return }
        lists.removeFirst()
        ask()
    }

    private func tell() {
        guard lists.isEmpty, told != table.state else { return }
        told = table.state
        onChange(table.state)
    }
}
