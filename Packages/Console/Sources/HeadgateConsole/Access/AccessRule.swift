/// The rule that decides which requests are allowed (Protocol, The console). It uses no sockets.
struct AccessRule: Equatable, Sendable {
    /// The token that opens the pages.
    var token: Token
    /// The host names by which browsers may reach the console.
    let hosts: HostRule
    /// A Boolean value that says whether changes are allowed.
    let allowsControl: Bool
    /// The name of the cookie that holds the ID of a session. It contains the port, because browsers share cookies
    /// between the ports of one host.
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
        /// The URL contained the token. A session begins, and the browser is redirected to this location.
        case signedIn(location: String)
        /// The user ends the session.
        case signedOut
        /// The request is allowed.
        case granted(Route)
    }

    /// Decides about a request.
    /// - Parameter hasSession: true if the request has the cookie of an open session.
    func judge(_ request: HTTPRequest, hasSession: Bool = false) -> Verdict {
        guard let host = request.value("host"), hosts.allows(host) else { return Self.foreignHost }
        let isKnown = hasSession || request.bears(token)
        guard request.path.first == "/", let query = request.query else {
            return .refused(400, "This is not the address of a page.")
        }
        switch request.path {
        case "/healthz": return request.isReading ? .health : .wrongMethod(allowed: "GET, HEAD")
        case "/metrics":
            // A request under another host name comes through a proxy, perhaps from the network.
            guard isKnown || hosts.isOwn(host) else { return Self.unknown }
            guard request.isReading else { return .wrongMethod(allowed: "GET, HEAD") }
            return .metrics(isOpenMetrics: MetricsFormat.wantsOpenMetrics(request.values("accept")))
        default: return judgePrivate(request, query, host: host, isKnown: isKnown)
        }
    }

    private func judgePrivate(
        _ request: HTTPRequest, _ query: FormFields, host: String, isKnown: Bool
    ) -> Verdict {
        if let offer = query["token"], request.isReading {
            guard token.matches(offer) else { return Self.unknown }
            return signIn(request, query)
        }
        guard isKnown else { return Self.unknown }
        guard let route = Route(path: request.path, query: query) else {
            return .refused(404, "There is no such page.")
        }
        switch route {
        case .page(.rewind) where !allowsControl: return Self.readOnly
        case .change, .signOut: return judgeForm(route, request, host: host)
        case .page, .live, .asset: return request.isReading ? .granted(route) : .wrongMethod(allowed: "GET, HEAD")
        }
    }

    private func judgeForm(_ route: Route, _ request: HTTPRequest, host: String) -> Verdict {
        guard request.method == "POST" else { return .wrongMethod(allowed: "POST") }
        guard allowsControl || route == .signOut else { return Self.readOnly }
        guard let origin = request.value("origin")?.lowercased(),
            ["http://", "https://"].contains(where: { origin == $0 + host.lowercased() })
        else { return .refused(403, "The request did not come from a page of the console.") }
        return route == .signOut ? .signedOut : .granted(route)
    }

    private func signIn(_ request: HTTPRequest, _ query: FormFields) -> Verdict {
        // A path that begins with two slashes, or with a slash and a backslash, leads to another host.
        let path = request.path.dropFirst().first.map { "/\\".contains($0) } ?? false ? "/" : request.path
        let rest = query.without("token").text
        return .signedIn(location: path + (rest.isEmpty ? "" : "?\(rest)"))
    }

    /// Returns the value of `Set-Cookie` for a session.
    func setCookie(session: String) -> String { "\(cookie)=\(session); \(Self.cookieAttributes)" }

    /// The value of `Set-Cookie` that removes the cookie.
    var removedCookie: String { "\(cookie)=; Max-Age=0; \(Self.cookieAttributes)" }

    private static let cookieAttributes = "Path=/; HttpOnly; SameSite=Strict"

    static let foreignHost = Verdict.refused(
        421, "This host name is not allowed. Start the console with --host NAME to allow it.")

    private static let readOnly = Verdict.refused(
        403, "This console is read-only: it was started without --allow-control.")

    private static let unknown = Verdict.refused(
        401, "The console's token is required: open the URL that headgate-console printed at its start.")
}

extension HTTPRequest {
    var isReading: Bool { method == "GET" || method == "HEAD" }

    /// Returns true if the request has a token as `Authorization: Bearer`.
    func bears(_ token: Token) -> Bool {
        guard let words = value("authorization")?.split(separator: " "), words.count == 2 else { return false }
        return words[0].lowercased() == "bearer" && token.matches(String(words[1]))
    }
}
