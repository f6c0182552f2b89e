import HeadgateTransport

/// Puts pages together, and does what their forms ask for.
final class PageDesk {
    private let daemon: DaemonLink
    private let allowsControl: Bool
    private let loop: EventLoop

    init(daemon: DaemonLink, allowsControl: Bool, loop: EventLoop) {
        self.daemon = daemon
        self.allowsControl = allowsControl
        self.loop = loop
    }
    func regions(_ page: Route.Page) -> [Region] {
        [Region(id: "presence", html: "<p>\("\(daemon.state.presence)")</p>")]
    }
    func serve(_ page: Route.Page, _ request: HTTPRequest, _ then: @escaping (HTTPResponse) -> Void) {
        daemon.whenFresh { [self] in
            let html = regions(page).reduce(into: HTML()) { $0 += $1.html }
            then(HTTPResponse(200, type: "text/html; charset=utf-8", Array(html.text.utf8)))
        }
    }
    func perform(_ change: Route.Change, _ request: HTTPRequest, _ then: @escaping (HTTPResponse) -> Void) {
        then(.words(501, "soon"))
    }
}
