import HeadgateCommands

/// What an operator should know now, and what to do.
struct ProblemsPage {
    let state: DaemonState
    let clock: WallClock

    /// What changes on it.
    var regions: [Region] {
        [Region(id: "problems", html: list)]
    }

    /// All of it.
    var html: HTML {
        "<div id=\"problems\">\(list)</div>"
    }

    private var list: HTML {
        let all = Problems(state: state, clock: clock).all
        guard !all.isEmpty else { return "<p class=\"sentence\">\(Words.badge("all is well", .good))</p>" }
        let items = all.map { problem -> HTML in
            let link: HTML =
                problem.dispatcher.map {
                    " <a href=\"\(Route.Page.dispatcher($0).target)\">Look at \($0)</a>"
                } ?? ""
            return """
                <li class="\(problem.isBad ? "bad" : "held" as HTML)"><h2>\(problem.title)</h2>\
                <p>\(Words.prose(problem.advice))\(link)</p></li>

                """
        }
        return "<ol class=\"problems\">\(items)</ol>"
    }
}
