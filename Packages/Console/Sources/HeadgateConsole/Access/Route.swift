/// A resource of the console that needs a session or the token.
enum Route: Equatable, Sendable {
    /// A page.
    case page(Page)
    /// A stream of a page's changes.
    case live(Page)
    /// A file that pages use.
    case asset(Asset)
    /// A change of the daemon.
    case change(Change)
    /// The end of the browser's session.
    case signOut

    /// A page.
    enum Page: Hashable, Sendable {
        case overview, barriers, clients, store, problems
        case dispatcher(String)
        /// The pending events of a dispatcher after this sequence number.
        case queue(String, after: Int64?)
        /// The dead letters of a dispatcher after this dead letter number.
        case deadLetters(String, after: Int?)
        /// The preview of a rewind of a dispatcher to a start, or a form for the start if it is nil.
        case rewind(String, to: String?)
        /// The trace of one event, or a form for its ID if it is nil.
        case event(String?)
    }

    /// A file that pages use.
    enum Asset: String, CaseIterable, Sendable {
        case style = "console.css"
        case script = "console.js"
        case icon = "icon.svg"
    }

    /// A change that a page may make to a dispatcher.
    struct Change: Equatable, Sendable {
        let dispatcher: String
        let act: Act

        /// The kind of change.
        enum Act: String, CaseIterable, Sendable {
            case pause, resume, retry, flush, purge
            case requeue = "dead-letters/requeue"
            case purgeDeadLetters = "dead-letters/purge"
            case rewind = "rewind/confirmed"
        }
    }

    /// Returns the route of a path, or nil if there is none.
    init?(path: some StringProtocol, query: FormFields) {
        guard path.first == "/" else { return nil }
        var parts: [String] = []
        for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let text = URLText.decoded(part) else { return nil }
            parts.append(text)
        }
        if let asset = parts.count == 2 && parts[0] == "assets" ? Asset(rawValue: parts[1]) : nil {
            self = .asset(asset)
        } else if parts == ["live"] {
            guard let route = query["page"].flatMap(Route.init(target:)), case .page(let page) = route else {
                return nil
            }
            self = .live(page)
        } else if parts == [Route.signOutPath] {
            self = .signOut
        } else if let page = Page(parts, query) {
            self = .page(page)
        } else if let change = Change(parts) {
            self = .change(change)
        } else {
            return nil
        }
    }

    /// The path of ``signOut``, without the slash.
    static let signOutPath = "sign-out"

    /// Returns the route of a path with its query.
    private init?(target: String) {
        let path = target.prefix { $0 != "?" }
        guard let query = FormFields(target.dropFirst(path.count + 1)) else { return nil }
        self.init(path: path, query: query)
    }
}

extension Route.Page {
    fileprivate init?(_ parts: [String], _ query: FormFields) {
        switch parts {
        case [""]: self = .overview
        case ["barriers"]: self = .barriers
        case ["clients"]: self = .clients
        case ["store"]: self = .store
        case ["problems"]: self = .problems
        case ["event"]: self = .event(query["id"].flatMap { $0.isEmpty ? nil : $0 })
        default:
            guard parts.count >= 2, parts[0] == "dispatchers", !parts[1].isEmpty else { return nil }
            switch parts[2...] {
            case []: self = .dispatcher(parts[1])
            case ["queue"]: self = .queue(parts[1], after: query["after"].flatMap(Int64.init))
            case ["dead-letters"]: self = .deadLetters(parts[1], after: query["after"].flatMap(Int.init))
            case ["rewind"]: self = .rewind(parts[1], to: query["to"].flatMap { $0.isEmpty ? nil : $0 })
            default: return nil
            }
        }
    }

    /// The path of the page, with its query.
    var target: String {
        switch self {
        case .overview: "/"
        case .barriers: "/barriers"
        case .clients: "/clients"
        case .store: "/store"
        case .problems: "/problems"
        case .dispatcher(let id): "/dispatchers/\(URLText.encoded(id))"
        case .queue(let id, let after):
            "/dispatchers/\(URLText.encoded(id))/queue" + (after.map { "?after=\($0)" } ?? "")
        case .deadLetters(let id, let after):
            "/dispatchers/\(URLText.encoded(id))/dead-letters" + (after.map { "?after=\($0)" } ?? "")
        case .rewind(let id, let to):
            "/dispatchers/\(URLText.encoded(id))/rewind" + (to.map { "?to=\(URLText.encoded($0))" } ?? "")
        case .event(let id): "/event" + (id.map { "?id=\(URLText.encoded($0))" } ?? "")
        }
    }
}

extension Route.Change {
    fileprivate init?(_ parts: [String]) {
        guard parts.count >= 3, parts[0] == "dispatchers", !parts[1].isEmpty,
            let act = Act(rawValue: parts[2...].joined(separator: "/"))
        else { return nil }
        self.init(dispatcher: parts[1], act: act)
    }

    /// The path that the change is posted to.
    var target: String {
        "/dispatchers/\(URLText.encoded(dispatcher))/\(act.rawValue)"
    }
}
