import CCurl
import HeadgateCore

/// A libcurl "easy handle", which serves one request at a time. It keeps its target's options for the next request,
/// because setting them all takes longer than sending a small batch.
final class HTTPHandle {
    let easy: UnsafeMutableRawPointer
    /// The object that closes the sockets of the handle's connections. The reference keeps it alive as long as the
    /// handle exists.
    private let sockets: OpenSockets
    /// The target of all requests of the handle.
    let target: HTTPRequest.Target
    /// The first error of an option, or `CURLE_OK`.
    private(set) var optionError = CURLE_OK
    /// True if the refused option is the URL.
    private var isURLRefused = false
    private var lines: UnsafeMutablePointer<curl_slist>?
    /// The body that is being sent. libcurl has a pointer to it.
    private var body: [UInt8] = []
    /// The number of body bytes that libcurl sends in one turn of the loop.
    private var piece = HTTPHandle.defaultPiece

    init(to target: HTTPRequest.Target, userAgent: String, noProxy: String, sockets: OpenSockets) {
        (self.target, self.sockets) = (target, sockets)
        // libcurl returns nil only if there is no memory. Swift would stop the process in that case, too.
        easy = curl_easy_init()!
        set(CURLOPT_USERAGENT, userAgent)
        set(sockets.follow)
        setOrigin(noProxy: noProxy)
        setLimits()
        setTLS()
        set(target.method == .post ? CURLOPT_POST : CURLOPT_HTTPGET, 1)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(lines)
    }

    /// Sets the options of one request.
    func prepare(_ request: HTTPRequest) {
        for field in request.fields { add(field.line) }
        // By default libcurl sends `Expect: 100-continue` before each large body, and waits for an answer that few
        // servers send.
        add(request.expectsContinue ? "Expect: 100-continue" : "Expect:")
        set { ccurl_set_list($0, CURLOPT_HTTPHEADER, lines) }
        if target.method == .post { setBody(request.body) }
    }

    /// Clears the headers and the body of a finished request. The next request sets its own reader.
    func rest() {
        set { ccurl_set_list($0, CURLOPT_HTTPHEADER, nil) }
        curl_slist_free_all(lines)
        lines = nil
        if target.method == .post { setBody([]) }
    }

    /// Sets the functions that read the answer's body and the lines of its head.
    func setReader(
        _ body: @escaping curl_write_callback, _ header: @escaping curl_write_callback,
        _ context: UnsafeMutableRawPointer
    ) {
        set { ccurl_set_reader($0, body, context) }
        set { ccurl_set_header_reader($0, header, context) }
    }

    /// The outcome of a request whose options libcurl refused.
    var optionOutcome: HTTPOutcome {
        isURLRefused ? .unmade(cause: HTTPOutcome.longURL) : .failed(cause: optionError.cause(connectError: 0))
    }

    // MARK: Options

    /// Sets one option, unless an earlier one has failed.
    private func set(_ option: (UnsafeMutableRawPointer) -> CURLcode) {
        guard optionError == CURLE_OK else { return }
        optionError = option(easy)
    }

    private func set(_ option: CURLoption, _ value: Int) {
        set { ccurl_set_long($0, option, value) }
    }

    private func set(_ option: CURLoption, _ value: String?) {
        set { ccurl_set_string($0, option, value) }
    }

    /// Sets an option to bytes, which libcurl copies.
    private func set(_ option: CURLoption, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            set { ccurl_set_blob($0, option, bytes.baseAddress, bytes.count) }
        }
    }

    /// Adds a line to the request's header.
    private func add(_ line: String) {
        guard let extended = curl_slist_append(lines, line) else {
            optionError = CURLE_OUT_OF_MEMORY
            return
        }
        lines = extended
    }

    private func setBody(_ bytes: [UInt8]) {
        body = bytes
        if bytes.count > piece, piece < Self.largestPiece {
            piece = min(bytes.count, Self.largestPiece)
            set(CURLOPT_UPLOAD_BUFFERSIZE, piece)
        }
        // The pointer stays valid after the closure, which saves a copy: the array does not change until the request
        // has ended, and on Linux an array has no other storage than its own.
        body.withUnsafeBytes { bytes in
            set { ccurl_set_body($0, bytes.baseAddress, bytes.count) }
        }
    }

    /// The usual number of bytes in one turn: libcurl's default.
    private static let defaultPiece = 64 * 1024
    /// The number of bytes in one turn for large bodies, which would otherwise take many turns. More would take more
    /// memory.
    private static let largestPiece = 256 * 1024

    // MARK: The target

    private func setOrigin(noProxy: String) {
        set(CURLOPT_URL, target.url)
        isURLRefused = optionError != CURLE_OK
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_NOPROXY, target.unixSocket == nil && !target.isLoopback ? noProxy : "*")
        guard let path = target.unixSocket else { return }
        set(CURLOPT_UNIX_SOCKET_PATH, path)
    }

    private func setLimits() {
        set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(target.connectTimeout))
        set(CURLOPT_NOSIGNAL, 1)
        if target.isSentOnce { setSentOnce() }
        // Without this option, cancelling a name look-up would block the loop until the look-up ends.
        set(CURLOPT_QUICK_EXIT, 1)
    }

    /// Keeps libcurl from repeating the request: it opens a new connection, and uses HTTP/1.1. The connection is closed
    /// after the request.
    private func setSentOnce() {
        set(CURLOPT_FRESH_CONNECT, 1)
        set(CURLOPT_FORBID_REUSE, 1)
    }

    private func setTLS() {
        set(CURLOPT_HTTP_VERSION, target.isSentOnce ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS)
        if let authorities = target.tls.authorities {
            set(CURLOPT_CAINFO_BLOB, authorities)
            // Otherwise the system's certificates would be trusted, too.
            set(CURLOPT_CAINFO, nil)
            set(CURLOPT_CAPATH, nil)
        }
        if let certificate = target.tls.certificate { set(CURLOPT_SSLCERT_BLOB, certificate) }
        if let key = target.tls.key { set(CURLOPT_SSLKEY_BLOB, key) }
        // Otherwise OpenSSL would ask the terminal for the passphrase of an encrypted key, and block the loop.
        set(CURLOPT_KEYPASSWD, "")
    }

    /// Returns at least 1 ms, because libcurl reads 0 as no limit.
    private static func milliseconds(_ duration: Duration) -> Int {
        max(1, Int(duration.wholeMilliseconds))
    }
}
