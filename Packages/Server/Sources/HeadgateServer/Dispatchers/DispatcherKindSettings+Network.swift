extension DispatcherKindSettings {
    /// Whether the destination is on the other side of a network: neither this machine's loopback nor a Unix socket nor a
    /// file (Behaviour B20).
    var reachesNetwork: Bool {
        switch self {
        case .http(let http): http.unixSocket == nil && !http.isLoopback
        case .file, .worker: false
        case .nats(let nats): nats.servers.contains { !$0.authority.isLoopback }
        case .own(let own): own.reachesNetwork
        }
    }
}

extension HTTPSettings {
    /// Whether the endpoint's host is this machine. An endpoint that is no URL was refused with the settings.
    var isLoopback: Bool {
        (try? Endpoint(endpoint).authority.isLoopback) ?? false
    }
}
