extension DispatcherKindSettings {
    /// Whether the destination is on the other side of a network: neither this machine's loopback nor a Unix socket nor a
    /// file (Behaviour B20).
    var reachesNetwork: Bool {
        switch self {
        case .http(let http): http.unixSocket == nil && !http.isLoopback
        case .file: false
        case .own(let own): own.reachesNetwork
        }
    }
}

extension HTTPSettings {
    /// An endpoint that is no URL was refused with the settings.
    fileprivate var isLoopback: Bool {
        guard let host = try? Endpoint(endpoint).host.lowercased() else { return false }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || isLoopbackIPv4(host)
    }

    private func isLoopbackIPv4(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
