import HeadgateCore

/// The settings that all kinds of dispatchers over HTTP share: the destination, and the way to reach it (Behaviour K1).
struct HTTPSettings: Sendable, Equatable {
    /// The complete URL of the destination.
    var endpoint: String
    /// The names and values of headers, in order.
    var headers: [Header] = []
    /// The longest time that a request may take.
    var timeout = Duration.seconds(30)
    /// The longest time that connecting may take.
    var connectTimeout = Duration.seconds(10)
    /// The compression of bodies. At most one of the two is true.
    var gzip = false
    var zstd = false
    var tls = TLS()
    /// A Unix socket to connect to instead of the endpoint's host, or nil.
    var unixSocket: String?
    /// The meaning of the destination's answers.
    var answers = HTTPAnswerPolicy()
    /// True if a request may be sent again when it is unknown whether it arrived (`retry_failed_requests`, Behaviour
    /// D9).
    var isRepeated = true

    enum Method: String, Sendable, CaseIterable {
        case post = "POST"
        case get = "GET"
    }

    struct Header: Sendable, Equatable {
        var name: String
        var value: HeaderValue
    }

    /// The source of a header's value. All sources except text are secrets (Behaviour X4).
    enum HeaderValue: Sendable, Equatable {
        case text(String)
        /// A file, which is read for each request (``RequestFiles``). The value is the prefix and the contents without
        /// one line end.
        case file(String, prefix: String = "")
        /// An environment variable. The value is the prefix and the variable.
        case environment(String, prefix: String = "")
        /// A member of the output of the dispatcher's board (Behaviour A9). The value is the prefix and the member.
        case output(String, prefix: String)
    }

    /// True if the endpoint's host is this machine. Settings with an invalid endpoint were refused before.
    var isLoopback: Bool {
        (try? Endpoint(endpoint).authority.isLoopback) ?? false
    }

    /// The members of the board's output that headers use.
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
