import HeadgateText

/// The page of the present problems.
struct ProblemsPage {
    let state: DaemonState
    let clock: WallClock

    /// The regions that change.
    var regions: [Region] {
        [Region(id: "problems", html: list)]
    }

    /// The body of the page.
    var html: HTML {
        "<div id=\"problems\">\(list)</div>"
    }

    private var list: HTML {
        let all = Problems(state: state, clock: clock).all
        guard !all.isEmpty else { return "<p class=\"sentence\">\(Formatting.badge("No problems", .good))</p>" }
        let items = all.map { problem -> HTML in
            let link: HTML =
                problem.dispatcher.map {
                    " <a href=\"\(Route.Page.dispatcher($0).target)\">Open \($0)</a>"
                } ?? ""
            return """
                <li class="\(problem.isBad ? "bad" : "held" as HTML)"><h2>\(problem.title)</h2>\
                <p>\(Formatting.prose(problem.advice))\(link)</p></li>

                """
        }
        return "<ol class=\"problems\">\(items)</ol>"
    }
}
