/// The rule that decides which requests to the address of `--metrics-listen` are allowed (Protocol, The console).
struct MetricsRule: Equatable, Sendable {
    /// The token for `/metrics`, or nil if `/metrics` needs none.
    var token: Token?
    private let hosts: HostRule

    /// - Parameters:
    ///   - address: the address, with the real port.
    ///   - names: further allowed host names.
    init(_ address: ListenAddress, token: Token?, names: [String]) {
        self.token = token
        hosts = HostRule(address, names: names)
    }

    /// Decides about a request.
    func judge(_ request: HTTPRequest) -> AccessRule.Verdict {
        // Without this check and a token, a page on the web could read the metrics under a host name of its own (DNS
        // rebinding).
        guard token != nil || request.value("host").map(hosts.allows) ?? false else { return AccessRule.foreignHost }
        guard ["/healthz", "/metrics"].contains(request.path) else {
            return .refused(404, "Only /metrics and /healthz are served here.")
        }
        guard request.isReading else { return .wrongMethod(allowed: "GET, HEAD") }
        if request.path == "/healthz" { return .health }
        if let token, !request.bears(token) {
            return .refused(401, "The token of --metrics-token-file is required, as `Authorization: Bearer`.")
        }
        return .metrics(isOpenMetrics: MetricsFormat.wantsOpenMetrics(request.values("accept")))
    }
}
