/// The page of a refused request.
enum RefusalPage {
    /// Returns a small page with a text.
    static func response(_ status: Int, _ words: String) -> HTTPResponse {
        let title: HTML = "\(status) \(heading(status))"
        let body: HTML = """
            <!DOCTYPE html>
            <html lang="en">
            <head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>\(title)</title>\
            \(style(status))</head>
            <body><main><h1>\(title)</h1><p>\(words)</p>\(hint(status))</main></body>
            </html>

            """
        let response = HTTPResponse(status, type: "text/html; charset=utf-8", Array(body.text.utf8))
        return status == 401 ? response.with("WWW-Authenticate", "Bearer realm=\"headgate-console\"") : response
    }

    private static func heading(_ status: Int) -> HTML {
        switch status {
        case 400: "Bad request"
        case 401: "Token required"
        case 403: "Forbidden"
        case 404: "Not found"
        case 503: "Unavailable"
        case 421: "Host not allowed"
        default: "Request refused"
        }
    }

    /// Returns the link to the style sheet, which a browser without the token cannot load.
    private static func style(_ status: Int) -> HTML {
        status == 401 ? "" : "<link rel=\"stylesheet\" href=\"/assets/console.css\">"
    }

    /// Returns a link to continue. A browser sends no cookie with a request that another site's link starts. It sends
    /// one when the user follows this link.
    private static func hint(_ status: Int) -> HTML {
        guard status == 401 else { return "" }
        return "<p>If you opened the console before and came here from another site: <a href=\"/\">continue</a>.</p>"
    }
}
