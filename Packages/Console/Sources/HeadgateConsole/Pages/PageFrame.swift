import Glibc
import HeadgateClient
import HeadgateData
import HeadgateText

/// The frame that all pages share.
struct PageFrame {
    let state: DaemonState
    let clock: WallClock
    let socketPath: String

    /// Returns a page. Its referrer policy makes browsers send the header `Origin` with forms to the console. Other
    /// sites get no referrer.
    /// - Parameters:
    ///   - page: the page, whose stream sends its later changes.
    ///   - title: the heading.
    ///   - note: the message about the last change, or nil.
    ///   - body: the content.
    func html(_ page: Route.Page, _ title: String, note: String? = nil, _ body: HTML) -> HTML {
        let target = page.target
        let note: HTML = note.map { "<p class=\"done\" role=\"status\">\($0)</p>" } ?? ""
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="referrer" content="same-origin">
            <title>\(title) · Headgate on \(Self.machine)</title>
            <link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
            <link rel="stylesheet" href="/assets/console.css">
            <script type="module" src="/assets/console.js"></script>
            </head>
            <body data-live="/live?page=\(URLText.encoded(target))">
            <a class="skip" href="#main">Skip to the page</a>
            <header>
            <a class="brand" href="/"><img src="/assets/icon.svg" alt="" width="28" height="28">Headgate</a>
            <nav aria-label="Pages"><ul>\(Self.links(page))</ul></nav>
            <div id="presence">\(presence)</div>
            </header>
            <p id="summary" role="status">\(summary)</p>
            <p id="stream" role="status" hidden></p>
            <main id="main" tabindex="-1">
            <h1>\(title)</h1>
            \(note)\(body)</main>
            <footer><p>Times are in the time zone of \(Self.machine). Daemon socket: <code>\(socketPath)</code>.\
             <noscript>This page shows the state at \(clock.text(clock.now)): reload it to update.</noscript></p>
            <form method="post" action="/\(Route.signOutPath)"><button>Sign out</button></form></footer>
            </body>
            </html>

            """
    }

    /// The regions that every page has.
    var regions: [Region] {
        [Region(id: "presence", html: presence), Region(id: "summary", html: summary)]
    }

    private static func links(_ page: Route.Page) -> [HTML] {
        let pages: [(Route.Page, HTML)] = [
            (.overview, "Overview"), (.barriers, "Barriers"), (.clients, "Clients"), (.store, "Store"),
            (.event(nil), "Event"), (.problems, "Problems"),
        ]
        return pages.map { target, name in
            let isHere: Bool
            if case (.event, .event) = (page, target) { isHere = true } else { isHere = page == target }
            return "<li><a href=\"\(target.target)\"\(isHere ? " aria-current=\"page\"" : "" as HTML)>\(name)</a></li>"
        }
    }

    /// The daemon's availability and version.
    private var presence: HTML {
        switch state.presence {
        case .unknown: return Formatting.badge("connecting", .waiting)
        case .away: return Formatting.badge("unreachable", .bad)
        case .refusing: return Formatting.badge("access refused", .bad)
        case .serving:
            let version = state.status?.get(key: "version", as: String.self) ?? ""
            let uptime = Duration.milliseconds(state.status?.get(key: "uptime_ms", as: Int.self) ?? 0)
            let word = state.isReady ? Formatting.badge("ready", .good) : Formatting.badge("not ready", .held)
            return "\(word) <span class=\"note\">headgated \(version), up \(Quantity.time(uptime))</span>"
        }
    }

    /// The most important problem in one sentence. The sentence must change rarely, because screen readers read each
    /// change aloud.
    private var summary: HTML {
        switch state.presence {
        case .unknown: return "The console is connecting to the daemon."
        case .away(let cause, let since):
            let rest: HTML = state.asOf.map { "The page shows the state at \(clock.text($0))." } ?? ""
            return "<strong>The daemon has been unreachable since \(clock.text(since)):</strong> \(cause). \(rest)"
        case .refusing(let cause):
            return "<strong>The daemon refuses the console:</strong> \(cause)."
        case .serving:
            let problems = Problems(state: state, clock: clock).all
            guard let first = problems.first else { return "No problems." }
            let more: HTML = problems.count > 1 ? " and \(Quantity.counted(problems.count - 1, "more problem"))" : ""
            return "<a href=\"/problems\">\(first.title)\(more)</a>"
        }
    }

    /// The machine's host name.
    static let machine: String = {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "this machine" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()
}
