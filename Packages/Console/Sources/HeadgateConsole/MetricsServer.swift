import HeadgateTransport

/// The server of `--metrics-listen`, which serves only `/metrics` and `/healthz` (Protocol, The console).
final class MetricsServer {
    private let socket: ConsoleSocket
    private let tokenFile: TokenFile?
    private var rule: MetricsRule
    private var server: HTTPServer?

    /// Opens the address, or returns nil if the options name none.
    init?(_ options: ConsoleOptions) throws {
        guard let address = options.metricsListen else { return nil }
        tokenFile = options.metricsTokenFile.map(TokenFile.init)
        let token = try tokenFile?.token()
        socket = try ConsoleSocket(address)
        rule = MetricsRule(socket.address, token: token, names: options.hosts)
    }

    /// Serves requests.
    /// - Parameter answer: answers a request for which the verdict is not enough.
    func serve(on loop: EventLoop, _ answer: @escaping (AccessRule.Verdict, HTTPExchange) -> Void) throws {
        server = try HTTPServer(listening: socket.descriptor, on: loop) { [weak self] request, exchange in
            guard let self else { return }
            answer(rule.judge(request), exchange)
        }
    }

    /// Reads the token's file again.
    func readTokenAgain() throws(TokenFile.Fault) {
        if let token = try tokenFile?.token() { rule.token = token }
    }

    /// The address, as a text for people.
    var url: String { socket.address.url("/metrics") }

    func close() {
        server?.close()
        server = nil
    }
}
