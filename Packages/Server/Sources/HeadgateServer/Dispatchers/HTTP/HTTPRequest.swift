/// One HTTP request, ready to go.
struct HTTPRequest {
    var target: Target
    /// Header lines besides those that HTTP itself asks for.
    var fields: [HTTPField] = []
    /// What a POST sends, as it is.
    var body: [UInt8] = []
    /// True if the server is asked before the body is sent (`Expect: 100-continue`).
    var asksFirst = false
    /// The headers of the answer that are wanted.
    var answerHeaders: [String] = []
    /// How many bytes of the answer's body are kept; what comes behind them is read and forgotten.
    var answerLimit = 0

    /// Where a request goes, and how: mostly one that goes behind another to the same.
    struct Target: Equatable {
        /// The whole URL; user info in it is sent as basic authentication.
        var url: String
        var method = HTTPSettings.Method.post
        /// The longest that a request may take in all.
        var timeout = Duration.seconds(30)
        /// The longest that connecting may take, TLS included.
        var connectTimeout = Duration.seconds(10)
        var tls = TLSFiles()
        /// A Unix socket to connect to instead of the URL's host.
        var unixSocket: String?
        /// Whether the URL's host is this machine, to which no proxy leads.
        var isLoopback = false
        /// Whether a request must not be sent twice. libcurl repeats a request that found a used connection closed, though
        /// the server may have read it, and one that a server of HTTP/2 gives back: such a one goes over a new connection,
        /// which speaks HTTP/1.1.
        var isSentOnce = false
    }
}

/// One header line of a request.
struct HTTPField: Equatable {
    var name: String
    var value: String

    /// Whether it can be sent as it is: the name is a token, and the value cannot end the line (RFC 9110, 5.1 and 5.5).
    var isValid: Bool {
        !name.isEmpty && name.utf8.allSatisfy(Self.isTokenByte) && value.utf8.allSatisfy(Self.isValueByte)
    }

    /// The line in libcurl's form, in which an empty value is a semicolon.
    var line: String {
        value.isEmpty ? "\(name);" : "\(name): \(value)"
    }

    /// Whether it is of this name, which is compared without regard to case.
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

/// What came of a request.
enum HTTPOutcome: Equatable {
    /// An answer, at least as far as its status.
    case answered(HTTPAnswer)
    /// No answer; the cause is in a few words for people, always the same ones for the same cause, and without secrets.
    /// `isLost`: the connection was lost while the request's body was being sent.
    case failed(cause: String, isLost: Bool = false)
    /// A proxy refused to connect to the server; with its answer.
    case refusedByProxy(HTTPAnswer)
    /// libcurl could not make the request.
    case unmade(cause: String)

    static let longURL = "the URL with the event is longer than any that can be sent"
}

/// An answer to a request.
struct HTTPAnswer: Equatable {
    /// From 200 on: interim answers are not told.
    var status: Int
    /// Those of the wanted headers that it has, by the name they were asked for.
    var headers: [String: String]
    /// The beginning of the body.
    var body: [UInt8]
    /// Why it is not whole; nil for a whole one.
    var fault: String?

    /// Whether the status is a success, 2xx.
    var isSuccess: Bool {
        (200..<300).contains(status)
    }
}
