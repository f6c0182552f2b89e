import HeadgateCore

@testable import HeadgateServer

/// The kernel's messages about the network. Any datagram yields facts or is reported as garbled, and the resulting
/// state must equal that of a simple model.
enum NetlinkTarget {
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard input.count > 0 else { return -1 }
        let requiresRoute = input[0] & 1 == 1
        let datagram = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        let messages = reader.read(datagram)
        if let index = messages.firstIndex(of: .garbled) { precondition(index == messages.count - 1) }
        var table = NetworkTable(requiresDefaultRoute: requiresRoute)
        var plain = PlainNetwork(requiresDefaultRoute: requiresRoute)
        for case .fact(let fact) in messages {
            table.take(fact)
            plain.take(fact)
            precondition(table.state == plain.state, "\(table.state) instead of \(plain.state)")
        }
        if messages.last != .garbled, datagram.count.isMultiple(of: 4) { readTwice(datagram, messages) }
        return 0
    }

    // Used only for reading.
    private static nonisolated(unsafe) let reader = NetlinkMessages { name in
        name.hasPrefix("w") ? .wifi : name.hasPrefix("c") ? .cellular : .ethernet
    }

    /// Checks that a datagram repeated twice yields its messages twice.
    private static func readTwice(_ datagram: UnsafeRawBufferPointer, _ messages: [NetlinkMessage]) {
        let twice = (Array(datagram) + Array(datagram)).withUnsafeBytes(reader.read)
        precondition(twice == messages + messages)
    }
}

/// A simple model of the machine's network, as lists.
private struct PlainNetwork {
    let requiresDefaultRoute: Bool
    var interfaces: [(index: Int32, interface: NetworkInterface)] = []
    var addresses: [(index: Int32, address: NetworkAddress)] = []
    var routes: [NetworkRoute] = []

    init(requiresDefaultRoute: Bool) {
        self.requiresDefaultRoute = requiresDefaultRoute
    }

    mutating func take(_ fact: NetworkFact) {
        switch fact {
        case .link(let index, let interface):
            interfaces.removeAll { $0.index == index }
            interfaces.append((index, interface))
        case .linkGone(let index):
            interfaces.removeAll { $0.index == index }
            addresses.removeAll { $0.index == index }
        case .address(let index, let address): addresses.append((index, address))
        case .addressGone(let index, let address):
            addresses.removeAll { $0.index == index && $0.address == address }
        case .defaultRoute(let route): routes.append(route)
        case .defaultRoutesChanged: break
        }
    }

    var state: NetworkState {
        let connected = interfaces.filter { entry in
            let interface = entry.interface
            return !interface.isLoopback && interface.isUp && interface.hasCarrier
                && addresses.contains { $0.index == entry.index }
        }
        let usable = routes.filter { route in connected.contains { $0.index == route.interface } }
        let main = usable.filter(\.isMain)
        let metric = (main.isEmpty ? usable : main).map(\.metric).min()
        let best = (main.isEmpty ? usable : main).filter { $0.metric == metric }.map(\.interface).min()
        let first = requiresDefaultRoute ? nil : connected.map(\.index).min()
        guard let index = best ?? first, let found = connected.first(where: { $0.index == index }) else {
            return .disconnected
        }
        return .connected(found.interface.kind)
    }
}
