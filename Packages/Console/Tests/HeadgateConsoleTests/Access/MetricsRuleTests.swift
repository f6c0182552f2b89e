import Testing

@testable import HeadgateConsole

@Suite("Access to the metrics' own address")
struct MetricsRuleTests {
    private func request(
        _ target: String, _ headers: [String: String] = [:], host: String = "127.0.0.1:9477", method: String = "GET"
    ) -> HTTPRequest {
        let all = headers.merging(["host": host]) { $1 }.map { HTTPRequest.Header(name: $0, value: $1) }
        return HTTPRequest(method: method, target: target, headers: all)
    }

    private func status(_ verdict: AccessRule.Verdict) -> Int? {
        if case .refused(let status, _) = verdict { status } else { nil }
    }

    @Test("Without a token /metrics and /healthz are served under the own host names, and no other path exists")
    func local() {
        let rule = MetricsRule(.default, token: nil, names: ["m.example"])
        #expect(rule.judge(request("/metrics")) == .metrics(isOpenMetrics: false))
        #expect(rule.judge(request("/metrics", host: "m.example")) == .metrics(isOpenMetrics: false))
        #expect(rule.judge(request("/healthz")) == .health)
        #expect(status(rule.judge(request("/metrics", host: "evil.example"))) == 421)
        for target in ["/", "/?token=secret", "/clients", "/metrics/"] {
            #expect(status(rule.judge(request(target))) == 404)
        }
        #expect(rule.judge(request("/metrics", method: "POST")) == .wrongMethod(allowed: "GET, HEAD"))
    }

    @Test("With a token /metrics needs it in a header, under any host name, and /healthz does not")
    func token() throws {
        let rule = MetricsRule(try ListenAddress(anywhere: "0.0.0.0:9478"), token: Token("secret"), names: [])
        func verdict(_ headers: [String: String]) -> AccessRule.Verdict {
            rule.judge(request("/metrics", headers, host: "till-7.example:9478"))
        }
        #expect(status(verdict([:])) == 401 && status(verdict(["authorization": "Bearer secre"])) == 401)
        #expect(verdict(["authorization": "Bearer secret"]) == .metrics(isOpenMetrics: false))
        #expect(rule.judge(request("/healthz", host: "till-7.example:9478")) == .health)
    }
}
