import HeadgateClient
import HeadgateData
import HeadgateTransport

/// The console: web pages about one daemon, for users who have the token (Behaviour O3). It lives on its loop's thread.
final class Console {
    private var access: AccessRule
    private var sessions = BrowserSessions()
    private let tokenFile: TokenFile?
    private let socket: ConsoleSocket
    private let metrics: MetricsServer?
    private let loop: EventLoop
    private let daemon: DaemonLink
    private let live: LivePages
    private let pages: PageRenderer
    private var server: HTTPServer?

    /// Makes a console that serves at once.
    init(_ options: ConsoleOptions, on loop: EventLoop) throws {
        self.loop = loop
        tokenFile = options.tokenFile.map(TokenFile.init)
        let token = try tokenFile?.token() ?? .fresh()
        socket = try ConsoleSocket(options.listen)
        metrics = try MetricsServer(options)
        access = AccessRule(
            socket.address, token: token, names: options.hosts, allowsControl: options.allowsControl)
        let reference = LivePagesReference()
        daemon = DaemonLink(socketPath: options.socketPath, on: loop) { reference.live?.changed() }
        let pages = PageRenderer(daemon: daemon, allowsControl: options.allowsControl, loop: loop)
        let daemon = daemon
        live = LivePages(on: loop, render: pages.regions) { daemon.attend($0) }
        self.pages = pages
        reference.live = live
        daemon.isClientsPageOpen = { reference.live?.isOpen(.clients) ?? false }
        server = try HTTPServer(listening: socket.descriptor, on: loop) { [weak self] request, exchange in
            self?.answer(request, exchange)
        }
        try metrics?.serve(on: loop) { [weak self] verdict, exchange in self?.answer(verdict, exchange) }
    }

    /// A reference to the live pages. The daemon's link notifies them, and is created before them.
    private final class LivePagesReference {
        weak var live: LivePages?
    }

    /// The address of the first page, with the token.
    var url: String {
        socket.address.url("/?token=\(URLText.encoded(access.token.text))")
    }

    /// The address of `--metrics-listen`, or nil.
    var metricsURL: String? { metrics?.url }

    /// Closes all parts of the console.
    func close() {
        live.endAll()
        server?.close()
        server = nil
        metrics?.close()
        daemon.close()
    }

    /// Reads the token files again. A new token makes links with the old one invalid and ends all sessions, and open
    /// pages must sign in again.
    /// - Returns: true if the token of the pages has changed.
    func readTokenAgain() throws(TokenFile.Fault) -> Bool {
        try metrics?.readTokenAgain()
        guard let token = try tokenFile?.token(), token != access.token else { return false }
        access.token = token
        sessions.endAll()
        live.endAll()
        return true
    }

    private func answer(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        let cookies = request.cookies(access.cookie)
        let verdict = access.judge(request, hasSession: sessions.use(cookies, at: now))
        switch verdict {
        case .signedIn(let location):
            let session = Token.fresh().text
            sessions.begin(at: now, id: session)
            exchange.signedIn()
            let cookie = access.setCookie(session: session)
            exchange.answer(.response(.seeOther(location).with("Set-Cookie", cookie)))
        case .signedOut:
            sessions.end(cookies)
            live.endAll()
            exchange.answer(.response(.seeOther("/").with("Set-Cookie", access.removedCookie)))
        case .granted(let route):
            exchange.signedIn()
            serve(route, request, exchange)
        default: answer(verdict, exchange)
        }
    }

    private var now: Duration { .nanoseconds(loop.monotonicNow) }

    /// Answers a request whose verdict leads to no page: a refusal, health or metrics.
    private func answer(_ verdict: AccessRule.Verdict, _ exchange: HTTPExchange) {
        switch verdict {
        case .refused(let status, let words): exchange.answer(.response(RefusalPage.response(status, words)))
        case .wrongMethod(let allowed):
            exchange.answer(.response(.words(405, "This address allows only \(allowed).").with("Allow", allowed)))
        case .health: answerHealth(exchange)
        case .metrics(let isOpenMetrics): answerMetrics(isOpenMetrics, exchange)
        case .signedIn, .signedOut, .granted: exchange.answer(.response(.words(404, "There is no such page.")))
        }
    }

    private func serve(_ route: Route, _ request: HTTPRequest, _ exchange: HTTPExchange) {
        switch route {
        case .asset(let asset): exchange.answer(.response(asset.response))
        case .page(let page): pages.serve(page, request) { exchange.answer(.response($0)) }
        case .signOut: exchange.answer(.response(.seeOther("/")))
        case .change(let change): pages.perform(change, request) { exchange.answer(.response($0)) }
        case .live(let page):
            guard let reader = live.reader(of: page, wake: { [weak exchange] in exchange?.resume() }) else {
                let answer = HTTPResponse.words(503, "Too many pages are open. Close some, then reload.").with(
                    "Retry-After", "10")
                return exchange.answer(.response(answer))
            }
            exchange.answer(.events(reader))
        }
    }

    // MARK: Answers for programs

    private func answerHealth(_ exchange: HTTPExchange) {
        daemon.ask("status") { result in
            switch result {
            case .success(let status):
                let isReady: Bool = status.get(key: "ready") ?? false
                exchange.answer(.response(isReady ? .word(200, "ok") : .word(503, "not_ready")))
            case .failure(ClientError.refused(let error)):
                exchange.answer(.response(.word(503, error.reason?.rawValue ?? "refused")))
            case .failure: exchange.answer(.response(.word(503, "away")))
            }
        }
    }

    private func answerMetrics(_ isOpenMetrics: Bool, _ exchange: HTTPExchange) {
        daemon.ask("metrics") { result in
            switch result {
            case .success(let metrics):
                let format: MetricsText = isOpenMetrics ? .openMetrics : .prometheus
                let text = format.text(ListedMetric.list(in: metrics) ?? [])
                exchange.answer(.response(HTTPResponse(200, type: format.contentType, Array(text.utf8))))
            case .failure(ClientError.refused(let error)):
                exchange.answer(.response(.words(503, "The daemon refuses the request: \(error.message)")))
            case .failure(let error): exchange.answer(.response(.words(503, "Cannot reach the daemon: \(error)")))
            }
        }
    }
}
