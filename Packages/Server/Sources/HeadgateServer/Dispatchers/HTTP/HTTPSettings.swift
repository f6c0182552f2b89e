/// What a dispatcher of kind `http` can be told beyond what all can (Behaviour K1).
struct HTTPSettings: Sendable, Equatable {
    /// The URL, scheme and all.
    var endpoint: String
    var method = Method.post
    var format = Format.jsonArray
    /// The `schema` of an envelope.
    var envelopeSchema = "headgate/1"
    /// Header names and values, in order.
    var headers: [Header] = []
    /// The longest that a request may take.
    var timeout = Duration.seconds(30)
    /// The longest that connecting may take.
    var connectTimeout = Duration.seconds(10)
    /// Whether bodies are compressed.
    var gzip = false
    var tls = TLS()
    /// A Unix socket to connect to instead of the endpoint's host.
    var unixSocket: String?
    /// What its answers mean.
    var answers = HTTPAnswerPolicy()
    /// Whether a request may be sent again when nobody knows whether it arrived (`retry_failed_requests`, Behaviour D9).
    var isRepeated = true

    enum Method: String, Sendable, CaseIterable {
        case post = "POST"
        case get = "GET"
    }

    enum Format: String, Sendable, CaseIterable {
        case jsonArray = "json_array"
        case ndjson
        case envelope
    }

    struct Header: Sendable, Equatable {
        var name: String
        var value: HeaderValue
    }

    /// Where a header's value comes from. All but text are secrets (Behaviour X4).
    enum HeaderValue: Sendable, Equatable {
        case text(String)
        /// A file, read again for each request (``RequestFiles``), one line end at its end cut off.
        case file(String)
        /// An environment variable.
        case environment(String)
        /// A member of what the board before the dispatcher put out (Behaviour A9), behind a prefix.
        case output(String, prefix: String)
    }

    /// The members of a board's output that headers take.
    var outputs: Set<String> {
        Set(
            headers.compactMap { header in
                if case .output(let name, _) = header.value { name } else { nil }
            })
    }

    struct TLS: Sendable, Equatable {
        var caFile: String?
        var certFile: String?
        var keyFile: String?
    }
}
