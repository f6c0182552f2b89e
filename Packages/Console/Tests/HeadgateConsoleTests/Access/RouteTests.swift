import Testing

@testable import HeadgateConsole

/// Tests the paths of pages and forms.
@Suite("Routes")
struct RouteTests {
    private static let ids = ["web", "a/b", "a b", "?", "ä", "%", "..", "&="]

    private func route(_ target: String) -> Route? {
        let path = target.prefix { $0 != "?" }
        return FormFields(target.dropFirst(path.count + 1)).flatMap { Route(path: path, query: $0) }
    }

    @Test("Each page is found at its own address, with any dispatcher's name", arguments: ids)
    func pages(id: String) {
        let pages: [Route.Page] = [
            .overview, .barriers, .clients, .store, .problems, .dispatcher(id), .queue(id, after: nil),
            .queue(id, after: 7),
            .deadLetters(id, after: nil), .deadLetters(id, after: 7), .event(nil), .event(id),
            .rewind(id, to: nil), .rewind(id, to: "-2h"),
        ]
        for page in pages {
            #expect(route(page.target) == .page(page))
            #expect(route("/live?page=\(URLText.encoded(page.target))") == .live(page))
        }
    }

    @Test("A plus sign in a path is not decoded as a space")
    func plus() {
        #expect(route("/dispatchers/a+b") == .page(.dispatcher("a+b")))
    }

    @Test("Each change is posted to its own address", arguments: ids)
    func changes(id: String) {
        for act in Route.Change.Act.allCases {
            let change = Route.Change(dispatcher: id, act: act)
            #expect(route(change.target) == .change(change))
        }
    }

    @Test("Each file that pages use exists")
    func assets() {
        for asset in Route.Asset.allCases {
            #expect(route("/assets/\(asset.rawValue)") == .asset(asset))
            #expect(!asset.response.body.isEmpty)
        }
    }

    @Test(
        "An unknown page has no updates", arguments: ["/live", "/assets/console.css", "/dispatchers/a/pause", "x"])
    func live(target: String) {
        #expect(route("/live?page=\(URLText.encoded(target))") == nil)
    }
}
