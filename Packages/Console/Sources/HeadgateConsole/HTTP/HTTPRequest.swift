/// An HTTP request as it came.
struct HTTPRequest: Equatable, Sendable {
    /// The method: `GET`, `POST` …
    var method = "GET"
    /// The path and the query, as they were sent.
    var target = "/"
    /// The headers in order, with names in lower case.
    var headers: [Header] = []
    /// The body of the request; empty if there is none.
    var body: [UInt8] = []

    /// One header.
    struct Header: Equatable, Sendable {
        let name: String
        let value: String
    }

    /// Returns the values of a header, whose name is in lower case.
    func values(_ name: String) -> [String] {
        headers.filter { $0.name == name }.map(\.value)
    }

    /// Returns the value of a header, or nil if there is none or several.
    func value(_ name: String) -> String? {
        let all = values(name)
        return all.count == 1 ? all[0] : nil
    }

    /// The path, as it was sent.
    var path: Substring {
        target.prefix { $0 != "?" }
    }

    /// The decoded query, or nil if it is malformed.
    var query: FormFields? {
        FormFields(target.dropFirst(path.count + 1))
    }

    /// Returns the values of a cookie.
    func cookies(_ name: String) -> [String] {
        values("cookie").flatMap { $0.split(separator: ";") }.compactMap { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, halves[0].drop(while: \.isWhitespace) == name else { return nil }
            return String(halves[1])
        }
    }
}

/// The answer to a request.
struct HTTPResponse: Sendable {
    var status: Int
    var headers: [HTTPRequest.Header] = []
    var body: [UInt8]

    /// Makes an answer with a content type.
    init(_ status: Int, type: String, _ body: [UInt8]) {
        self.status = status
        self.body = body
        headers = [HTTPRequest.Header(name: "Content-Type", value: type)]
    }

    /// Returns an answer of one word, for programs.
    static func word(_ status: Int, _ word: String) -> HTTPResponse {
        HTTPResponse(status, type: "text/plain; charset=utf-8", Array(word.utf8))
    }

    /// Returns an answer of plain text, with a line end.
    static func words(_ status: Int, _ text: String) -> HTTPResponse {
        word(status, "\(text)\n")
    }

    /// Returns a redirection to another page, by GET.
    static func seeOther(_ location: String) -> HTTPResponse {
        words(303, "See \(location)").with("Location", location)
    }

    /// Returns the answer with another header.
    func with(_ name: String, _ value: String) -> HTTPResponse {
        var response = self
        response.headers.append(HTTPRequest.Header(name: name, value: value))
        return response
    }

    /// Headers of every answer. They forbid content of other sites, frames and caching.
    static let securityHeaders = [
        HTTPRequest.Header(
            name: "Content-Security-Policy",
            value: "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"),
        HTTPRequest.Header(name: "X-Content-Type-Options", value: "nosniff"),
        HTTPRequest.Header(name: "X-Frame-Options", value: "DENY"),
        HTTPRequest.Header(name: "Referrer-Policy", value: "no-referrer"),
        HTTPRequest.Header(name: "Cross-Origin-Resource-Policy", value: "same-origin"),
        HTTPRequest.Header(name: "Cross-Origin-Opener-Policy", value: "same-origin"),
        HTTPRequest.Header(name: "Cache-Control", value: "no-store"),
    ]
}
