import Testing

@testable import HeadgateConsole

/// Tests which requests are allowed (Protocol, The console; Behaviour O3).
@Suite("Access")
struct AccessRuleTests {
    private let token = Token("secret")!

    private func rule(control: Bool = false, names: [String] = []) -> AccessRule {
        AccessRule(.default, token: token, names: names, allowsControl: control)
    }

    private func request(
        _ method: String, _ target: String, _ headers: [String: String] = [:], host: String? = "127.0.0.1:9477"
    ) -> HTTPRequest {
        var all = headers.map { HTTPRequest.Header(name: $0, value: $1) }
        if let host { all.append(HTTPRequest.Header(name: "host", value: host)) }
        return HTTPRequest(method: method, target: target, headers: all)
    }

    private func request(
        _ target: String, _ headers: [String: String] = [:], host: String? = "127.0.0.1:9477"
    ) -> HTTPRequest {
        request("GET", target, headers, host: host)
    }

    private func known(_ method: String, _ target: String, _ more: [String: String] = [:]) -> HTTPRequest {
        request(method, target, more.merging(["authorization": "Bearer secret"]) { $1 })
    }

    private func known(_ target: String) -> HTTPRequest {
        known("GET", target)
    }

    private func status(_ verdict: AccessRule.Verdict) -> Int? {
        switch verdict {
        case .refused(let status, _): status
        case .wrongMethod: 405
        default: nil
        }
    }

    // MARK: The token

    @Test(
        "Without the token no page is shown",
        arguments: ["/", "/barriers", "/live?page=/", "/assets/console.css", "/none"])
    func unknown(target: String) {
        #expect(status(rule().judge(request(target))) == 401)
    }

    @Test("A wrong token is refused", arguments: ["secre", "secret2", "", "Secret"])
    func wrong(offer: String) {
        #expect(status(rule().judge(request("/?token=\(offer)"))) == 401)
        #expect(status(rule().judge(request("/", ["authorization": "Bearer \(offer)"]))) == 401)
        #expect(status(rule().judge(request("/", ["cookie": "headgate_console_9477=\(offer)"]))) == 401)
    }

    @Test("Only the scheme Bearer is accepted", arguments: ["Basic secret", "secret", "Bearer", "Bearer secret more"])
    func schemes(value: String) {
        #expect(status(rule().judge(request("/", ["authorization": value]))) == 401)
    }

    @Test("The token in a header or an open session grants the pages; the token in a cookie grants nothing")
    func granted() {
        #expect(rule().judge(known("/")) == .granted(.page(.overview)))
        #expect(rule().judge(known("HEAD", "/")) == .granted(.page(.overview)))
        #expect(rule().judge(request("/"), hasSession: true) == .granted(.page(.overview)))
        #expect(status(rule().judge(request("/", ["cookie": "headgate_console_9477=secret"]))) == 401)
    }

    @Test("The token in the address begins a session, and the browser is redirected without it")
    func signIn() {
        #expect(rule().judge(request("/?token=secret")) == .signedIn(location: "/"))
        #expect(rule().judge(request("/event?id=a%26b&token=secret")) == .signedIn(location: "/event?id=a%26b"))
        #expect(
            rule().setCookie(session: "abc") == "headgate_console_9477=abc; Path=/; HttpOnly; SameSite=Strict")
    }

    @Test("Signing out is a POST from the console's own page, and needs no --allow-control")
    func signOut() {
        #expect(rule().judge(known("POST", "/sign-out", own)) == .signedOut)
        #expect(status(rule().judge(known("POST", "/sign-out"))) == 403)
        #expect(status(rule().judge(known("/sign-out"))) == 405)
        #expect(status(rule().judge(request("POST", "/sign-out", own))) == 401)
        #expect(rule().removedCookie.hasPrefix("headgate_console_9477=; Max-Age=0; "))
    }

    @Test(
        "The redirect never leads to another machine",
        arguments: ["//evil.example/?token=secret", "/\\evil?token=secret"])
    func openRedirect(target: String) {
        guard case .signedIn(let location) = rule().judge(request(target)) else {
            Issue.record("not signed in")
            return
        }
        #expect(location == "/")
    }

    @Test("A form needs the session's cookie: a token in its address is not enough")
    func tokenInForm() {
        let post = request(
            "POST", "/dispatchers/a/flush?token=secret", ["origin": "http://127.0.0.1:9477"])
        #expect(status(rule(control: true).judge(post)) == 401)
    }

    @Test("Links and cookies of an old token are refused")
    func changedToken() {
        var rule = rule()
        rule.token = Token("another")!
        #expect(status(rule.judge(known("/"))) == 401)
        #expect(status(rule.judge(request("/?token=secret"))) == 401)
    }

    // MARK: Metrics and health checks

    @Test("/metrics needs the token under a proxy's host name, and none under the console's own address")
    func metricsByProxy() {
        let rule = rule(names: ["con.example"])
        let byName = request("/metrics", host: "con.example")
        #expect(status(rule.judge(byName)) == 401)
        #expect(rule.judge(byName, hasSession: true) == .metrics(isOpenMetrics: false))
        let withToken = request("/metrics", ["authorization": "Bearer secret"], host: "con.example")
        #expect(rule.judge(withToken) == .metrics(isOpenMetrics: false))
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:9477"] {
            #expect(rule.judge(request("/metrics", host: host)) == .metrics(isOpenMetrics: false))
        }
        #expect(rule.judge(request("/healthz", host: "con.example")) == .health)
    }

    @Test("/healthz and /metrics need no token, and are read only")
    func machines() {
        #expect(rule().judge(request("/healthz")) == .health)
        #expect(rule().judge(request("/metrics")) == .metrics(isOpenMetrics: false))
        let accept = ["accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"]
        #expect(rule().judge(request("/metrics", accept)) == .metrics(isOpenMetrics: true))
        #expect(status(rule().judge(request("POST", "/healthz"))) == 405)
    }

    @Test(
        "O1: clients that accept OpenMetrics at least as much as plain text get it",
        arguments: [
            ("", false), ("*/*", false), ("text/plain;version=0.0.4", false), ("application/openmetrics-text", true),
            ("application/openmetrics-text;version=1.0.0;q=0.6,text/plain;q=0.5", true),
            ("text/plain, application/openmetrics-text; q=0.5", false), ("application/openmetrics-text;q=0", false),
        ])
    func formats(accept: String, isOpenMetrics: Bool) {
        #expect(rule().judge(request("/metrics", ["accept": accept])) == .metrics(isOpenMetrics: isOpenMetrics))
    }

    // MARK: The host

    @Test(
        "A Host that is not the console's is 421, for any request",
        arguments: ["evil.example", "127.0.0.1:1", "127.0.0.2:9477", "127.0.0.1.evil:9477", "", "[::1]:9477"])
    func hosts(host: String) {
        for target in ["/", "/healthz", "/metrics", "/?token=secret"] {
            #expect(status(rule().judge(request(target, host: host))) == 421)
        }
    }

    @Test("A request without a Host header, or with two, is answered with 421")
    func hostOnce() {
        #expect(status(rule().judge(request("/healthz", host: nil))) == 421)
        var two = request("/healthz")
        two.headers.append(HTTPRequest.Header(name: "host", value: "localhost"))
        #expect(status(rule().judge(two)) == 421)
    }

    @Test(
        "The address, localhost and names that were allowed are the console's",
        arguments: [
            "127.0.0.1:9477", "127.0.0.1", "localhost:9477", "localhost", "LocalHost:80", "con.example",
            "CON.example:443", "b:8",
        ])
    func allowedHosts(host: String) {
        #expect(rule(names: ["con.Example", "b:8"]).judge(request("/healthz", host: host)) == .health)
    }

    @Test("A host name that is allowed with one port is refused with another")
    func allowedPort() {
        #expect(status(rule(names: ["b:8"]).judge(request("/healthz", host: "b:9"))) == 421)
    }

    // MARK: Changes

    private let own = ["origin": "http://127.0.0.1:9477"]

    @Test("O3: without --allow-control nothing is changed")
    func showsOnly() {
        #expect(status(rule().judge(known("POST", "/dispatchers/a/pause", own))) == 403)
    }

    @Test("A change is a POST from the console's own page")
    func ownChange() {
        let change = Route.Change(dispatcher: "a", act: .pause)
        #expect(rule(control: true).judge(known("POST", "/dispatchers/a/pause", own)) == .granted(.change(change)))
        #expect(status(rule(control: true).judge(known("GET", "/dispatchers/a/pause", own))) == 405)
        #expect(status(rule(control: true).judge(known("PUT", "/dispatchers/a/pause", own))) == 405)
        #expect(status(rule(control: true).judge(known("POST", "/barriers", own))) == 405)
    }

    @Test(
        "A form of another page is refused",
        arguments: [
            "null", "http://evil.example", "http://127.0.0.1:9478", "http://127.0.0.1:9477.evil", "127.0.0.1:9477", "",
        ])
    func foreignOrigin(origin: String) {
        let post = known("POST", "/dispatchers/a/pause", ["origin": origin])
        #expect(status(rule(control: true).judge(post)) == 403)
    }

    @Test("A form without an origin is refused")
    func noOrigin() {
        #expect(status(rule(control: true).judge(known("POST", "/dispatchers/a/pause"))) == 403)
    }

    @Test("A form at an allowed host name must have that name as its origin, even with the token")
    func originOfName() {
        let rule = rule(control: true, names: ["con.example"])
        func verdict(_ origin: String) -> Int? {
            let headers = ["origin": origin, "authorization": "Bearer secret"]
            return status(rule.judge(request("POST", "/dispatchers/a/pause", headers, host: "con.example")))
        }
        #expect(verdict("https://con.example") == nil && verdict("http://127.0.0.1:9477") == 403)
    }

    // MARK: Malformed requests

    @Test("A missing or broken address is refused", arguments: ["*", "http://a/", "/?a=%zz", "/?a=%ff"])
    func nonsense(target: String) {
        #expect(status(rule().judge(request(target))) == 400)
    }

    @Test(
        "An unknown path is 404 for clients with the token",
        arguments: ["/none", "/dispatchers", "/%ff", "/live", "/live?page=/live", "/assets/../x"])
    func absent(target: String) {
        #expect(status(rule().judge(known(target))) == 404)
    }
}
