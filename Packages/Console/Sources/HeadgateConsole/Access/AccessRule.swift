/// Decides which requests are allowed. It knows nothing of sockets (Protocol, The console).
struct AccessRule: Equatable, Sendable {
    /// The token that opens the pages.
    var token: Token
    /// The host names by which browsers may reach the console.
    let hosts: HostRule
    /// A Boolean value that says whether changes are allowed.
    let allowsControl: Bool
    /// The name of the cookie that holds the token. It contains the port, because browsers share cookies between the
    /// ports of one host.
    let cookie: String

    init(_ address: ListenAddress, token: Token, names: [String], allowsControl: Bool) {
        self.token = token
        hosts = HostRule(address, names: names)
        self.allowsControl = allowsControl
        cookie = "headgate_console" + (address.port.map { "_\($0)" } ?? "")
    }

    /// The decision about a request.
    enum Verdict: Equatable, Sendable {
        /// The request gets this status, with a text for people.
        case refused(Int, String)
        /// The method is not one of the allowed ones.
        case wrongMethod(allowed: String)
        /// The request asks for the daemon's health.
        case health
        /// The request asks for metrics, in the format of OpenMetrics or of Prometheus.
        case metrics(isOpenMetrics: Bool)
        /// The address contained the token. The browser stores the token as this cookie and goes to this location.
        case signedIn(cookie: String, location: String)
        /// The request is allowed.
        case granted(Route)
    }

    /// Decides about a request.
    func judge(_ request: HTTPRequest) -> Verdict {
        guard let host = request.value("host"), hosts.allows(host) else {
            return .refused(421, "This host name is not allowed. Start the console with --host NAME to allow it.")
        }
        guard request.path.first == "/", let query = request.query else {
            return .refused(400, "This is not the address of a page.")
        }
        switch request.path {
        case "/healthz": return isReading(request) ? .health : .wrongMethod(allowed: "GET, HEAD")
        case "/metrics" where isReading(request):
            return .metrics(isOpenMetrics: MetricsFormat.wantsOpenMetrics(request.values("accept")))
        case "/metrics": return .wrongMethod(allowed: "GET, HEAD")
        default: return judgePrivate(request, query, host: host)
        }
    }

    private func judgePrivate(_ request: HTTPRequest, _ query: FormFields, host: String) -> Verdict {
        if let offer = query["token"], isReading(request) {
            guard token.matches(offer) else { return Self.unknown }
            return signIn(request, query)
        }
        guard isKnown(request) else { return Self.unknown }
        guard let route = Route(path: request.path, query: query) else {
            return .refused(404, "There is no such page.")
        }
        guard case .change(let change) = route else {
            return isReading(request) ? .granted(route) : .wrongMethod(allowed: "GET, HEAD")
        }
        return judge(change, request, host: host)
    }

    private func judge(_ change: Route.Change, _ request: HTTPRequest, host: String) -> Verdict {
        guard request.method == "POST" else { return .wrongMethod(allowed: "POST") }
        guard allowsControl else {
            return .refused(403, "This console is read-only: it was started without --allow-control.")
        }
        guard let origin = request.value("origin")?.lowercased(),
            ["http://", "https://"].contains(where: { origin == $0 + host.lowercased() })
        else { return .refused(403, "The request did not come from a page of the console.") }
        return .granted(.change(change))
    }

    private func isReading(_ request: HTTPRequest) -> Bool {
        request.method == "GET" || request.method == "HEAD"
    }

    private func isKnown(_ request: HTTPRequest) -> Bool {
        if request.cookies(cookie).contains(where: token.matches) { return true }
        guard let words = request.value("authorization")?.split(separator: " "), words.count == 2 else { return false }
        return words[0].lowercased() == "bearer" && token.matches(String(words[1]))
    }

    private func signIn(_ request: HTTPRequest, _ query: FormFields) -> Verdict {
        // A path that begins with two slashes, or with a slash and a backslash, leads to another host.
        let path = request.path.dropFirst().first.map { "/\\".contains($0) } ?? false ? "/" : request.path
        let rest = query.without("token").text
        return .signedIn(
            cookie: "\(cookie)=\(token.text); Path=/; HttpOnly; SameSite=Strict",
            location: path + (rest.isEmpty ? "" : "?\(rest)"))
    }

    private static let unknown = Verdict.refused(
        401, "The console's token is required: open the URL that headgate-console printed at its start.")
}
