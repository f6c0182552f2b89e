/// A request as it came, before anybody judged it.
struct HTTPRequest: Equatable, Sendable {
    /// `GET`, `POST` …
    var method = "GET"
    /// The path and the query, as they were sent.
    var target = "/"
    /// The headers in their order, their names in lower case.
    var headers: [Header] = []
    /// What was sent with it.
    var body: [UInt8] = []

    /// One header.
    struct Header: Equatable, Sendable {
        let name: String
        let value: String
    }

    /// The values of a header, whose name is in lower case.
    func values(_ name: String) -> [String] {
        headers.filter { $0.name == name }.map(\.value)
    }

    /// The value of a header that stands there once; nil where there is none or several.
    func value(_ name: String) -> String? {
        let all = values(name)
        return all.count == 1 ? all[0] : nil
    }

    /// The path, as it was sent.
    var path: Substring {
        target.prefix { $0 != "?" }
    }

    /// The query, read; nil where it is broken.
    var query: FormFields? {
        FormFields(target.dropFirst(path.count + 1))
    }

    /// The value of a cookie.
    func cookies(_ name: String) -> [String] {
        values("cookie").flatMap { $0.split(separator: ";") }.compactMap { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, halves[0].drop(while: \.isWhitespace) == name else { return nil }
            return String(halves[1])
        }
    }
}

/// What a request is answered with.
struct HTTPResponse: Sendable {
    var status: Int
    var headers: [HTTPRequest.Header] = []
    var body: [UInt8]

    /// An answer of some type.
    init(_ status: Int, type: String, _ body: [UInt8]) {
        self.status = status
        self.body = body
        headers = [HTTPRequest.Header(name: "Content-Type", value: type)]
    }

    /// One word for programs.
    static func word(_ status: Int, _ word: String) -> HTTPResponse {
        HTTPResponse(status, type: "text/plain; charset=utf-8", Array(word.utf8))
    }

    /// A few plain words.
    static func words(_ status: Int, _ text: String) -> HTTPResponse {
        word(status, "\(text)\n")
    }

    /// A way to another page, by GET.
    static func seeOther(_ location: String) -> HTTPResponse {
        words(303, "See \(location)").with("Location", location)
    }

    /// With another header.
    func with(_ name: String, _ value: String) -> HTTPResponse {
        var response = self
        response.headers.append(HTTPRequest.Header(name: name, value: value))
        return response
    }

    /// What every answer says to browsers: nothing of other places, nothing in frames, nothing kept.
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
