/// One HTTP request, ready to send.
struct HTTPRequest {
    var target: Target
    /// The headers besides those that HTTP itself requires.
    var fields: [HTTPField] = []
    /// The body of a POST, as it is sent.
    var body: [UInt8] = []
    /// True if the server is asked before the body is sent (`Expect: 100-continue`).
    var expectsContinue = false
    /// The names of the answer's headers to return.
    var answerHeaders: [String] = []
    /// The most bytes of the answer's body to keep. The rest is read and dropped.
    var answerLimit = 0
    /// The most bytes of a successful answer, or nil for no limit. The connection is closed at more.
    var longestSuccess: Int?

    /// The destination and the options of a request. Consecutive requests of a dispatcher mostly have equal targets.
    struct Target: Equatable {
        /// The complete URL. Its user info is sent as basic authentication.
        var url: String
        var method = HTTPSettings.Method.post
        /// The longest time that the whole request may take.
        var timeout = Duration.seconds(30)
        /// The longest time that connecting may take, with TLS.
        var connectTimeout = Duration.seconds(10)
        var tls = TLSFiles()
        /// A Unix socket to connect to instead of the URL's host, or nil.
        var unixSocket: String?
        /// True if the URL's host is this machine, which is reached without a proxy.
        var isLoopback = false
        /// True if a request must not be sent twice. libcurl repeats a request whose reused connection was closed,
        /// though the server may have read it, and a request that an HTTP/2 server rejects. So such a request gets a
        /// new connection with HTTP/1.1.
        var isSentOnce = false
    }
}

/// One header of a request.
struct HTTPField: Equatable {
    var name: String
    var value: String

    /// True if the header can be sent: the name is a token, and the value cannot end the line (RFC 9110, 5.1 and 5.5).
    var isValid: Bool {
        !name.isEmpty && name.utf8.allSatisfy(Self.isTokenByte) && value.utf8.allSatisfy(Self.isValueByte)
    }

    /// The header in libcurl's form, in which a semicolon stands for an empty value.
    var line: String {
        value.isEmpty ? "\(name);" : "\(name): \(value)"
    }

    /// Returns true if the header has this name. Case does not matter.
    func isNamed(_ other: String) -> Bool {
        name.lowercased() == other.lowercased()
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: tokenMarks.contains(byte)
        }
    }

    private static func isValueByte(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\t") || (byte >= 0x20 && byte != 0x7F)
    }

    private static let tokenMarks = Set("!#$%&'*+-.^_`|~".utf8)
}

/// The outcome of a request.
enum HTTPOutcome: Equatable {
    /// The server answered, at least with a status.
    case answered(HTTPAnswer)
    /// The server did not answer. The cause is a short text for people, always equal for the same cause, and without
    /// secrets. `isLost` says that the connection was lost while the request's body was being sent.
    case failed(cause: String, isLost: Bool = false)
    /// A proxy refused to connect to the server, with this answer.
    case refusedByProxy(HTTPAnswer)
    /// libcurl could not make the request.
    case unmade(cause: String)

    static let longURL = "the URL with the event is too long to send"
}
