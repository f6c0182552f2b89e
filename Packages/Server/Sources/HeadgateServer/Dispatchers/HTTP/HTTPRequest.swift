/// One HTTP request, ready to go.
struct HTTPRequest {
    /// The whole URL; user info in it is sent as basic authentication.
    var url: String
    var method = HTTPSettings.Method.post
    /// Header lines besides those that HTTP itself asks for.
    var fields: [HTTPField] = []
    /// What a POST sends, as it is.
    var body: [UInt8] = []
    /// The longest that it may take in all.
    var timeout = Duration.seconds(30)
    /// The longest that connecting may take, TLS included.
    var connectTimeout = Duration.seconds(10)
    var tls = TLSFiles()
    /// A Unix socket to connect to instead of the URL's host.
    var unixSocket: String?
    /// Whether the URL's host is this machine, to which no proxy leads.
    var isLoopback = false
    /// Whether it must not be sent twice. libcurl repeats a request that found a used connection closed, though the
    /// server may have read it, and one that a server of HTTP/2 gives back: such a one goes over a new connection, which
    /// speaks HTTP/1.1.
    var isSentOnce = false
    /// The headers of the answer that are wanted.
    var answerHeaders: [String] = []
    /// How many bytes of the answer's body are kept; what comes behind them is read and forgotten.
    var answerLimit = 0
}
