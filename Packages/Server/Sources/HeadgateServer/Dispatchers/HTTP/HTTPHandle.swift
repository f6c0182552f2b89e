import CCurl
import HeadgateCore

/// libcurl's side of one request at a time, an "easy handle". What it was told of the target holds for the next request
/// there as well: to tell it all of that takes longer than a small batch.
final class HTTPHandle {
    let easy: UnsafeMutableRawPointer
    /// Closes the sockets of the handle's connections. It is kept so that it outlives them.
    private let sockets: OpenSockets
    /// Where all its requests go.
    let target: HTTPRequest.Target
    /// The first option that libcurl did not take.
    private(set) var optionError = CURLE_OK
    /// True if the URL is what libcurl did not take.
    private var isURLRefused = false
    private var lines: UnsafeMutablePointer<curl_slist>?
    /// What is being sent; libcurl has a pointer to it.
    private var body: [UInt8] = []
    /// Bytes of a body that libcurl hands over in one turn of the loop.
    private var piece = HTTPHandle.usualPiece

    init(to target: HTTPRequest.Target, userAgent: String, noProxy: String, sockets: OpenSockets) {
        (self.target, self.sockets) = (target, sockets)
        // Nil only when there is no memory, with which Swift cannot go on either.
        easy = curl_easy_init()!
        set(CURLOPT_USERAGENT, userAgent)
        set(sockets.follow)
        setPlace(noProxy: noProxy)
        setLimits()
        setTLS()
        set(target.method == .post ? CURLOPT_POST : CURLOPT_HTTPGET, 1)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(lines)
    }

    /// Tells libcurl of a request to the target.
    func prepare(_ request: HTTPRequest) {
        for field in request.fields { add(field.line) }
        // By itself libcurl would ask for leave before each large body, and wait for an answer that few servers give.
        add(request.asksFirst ? "Expect: 100-continue" : "Expect:")
        set { ccurl_set_list($0, CURLOPT_HTTPHEADER, lines) }
        if target.method == .post { setBody(request.body) }
    }

    /// The request is over: nothing of what it sent is left. Who reads the answer is told anew with the next.
    func rest() {
        set { ccurl_set_list($0, CURLOPT_HTTPHEADER, nil) }
        curl_slist_free_all(lines)
        lines = nil
        if target.method == .post { setBody([]) }
    }

    /// Tells libcurl who reads the answer: the body, and the lines of the header.
    func setReader(
        _ body: @escaping curl_write_callback, _ header: @escaping curl_write_callback,
        _ context: UnsafeMutableRawPointer
    ) {
        set { ccurl_set_reader($0, body, context) }
        set { ccurl_set_header_reader($0, header, context) }
    }

    /// The outcome of a request for which libcurl did not take an option.
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

    /// libcurl copies the bytes.
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
        // The pointer outlives the closure: nobody changes the array before the request is over, and arrays have no other
        // storage than their own on Linux. This spares a copy.
        body.withUnsafeBytes { bytes in
            set { ccurl_set_body($0, bytes.baseAddress, bytes.count) }
        }
    }

    /// As libcurl would have it by itself.
    private static let usualPiece = 64 * 1024
    /// For large bodies: each piece costs a turn, and memory.
    private static let largestPiece = 256 * 1024

    // MARK: The target

    private func setPlace(noProxy: String) {
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
        // Giving up while a name is being looked up would wait for the look-up, and the loop with it.
        set(CURLOPT_QUICK_EXIT, 1)
    }

    /// Leaves libcurl nothing to repeat: no connection that was used before, and no stream that may be given back. The
    /// connection is of no use to others, and closed.
    private func setSentOnce() {
        set(CURLOPT_FRESH_CONNECT, 1)
        set(CURLOPT_FORBID_REUSE, 1)
    }

    private func setTLS() {
        set(CURLOPT_HTTP_VERSION, target.isSentOnce ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS)
        if let authorities = target.tls.authorities {
            set(CURLOPT_CAINFO_BLOB, authorities)
            // Or the system's certificates would be trusted besides.
            set(CURLOPT_CAINFO, nil)
            set(CURLOPT_CAPATH, nil)
        }
        if let certificate = target.tls.certificate { set(CURLOPT_SSLCERT_BLOB, certificate) }
        if let key = target.tls.key { set(CURLOPT_SSLKEY_BLOB, key) }
        // Or OpenSSL would ask the terminal for the passphrase of an encrypted key, and the loop would wait.
        set(CURLOPT_KEYPASSWD, "")
    }

    /// libcurl takes 0 for no limit.
    private static func milliseconds(_ duration: Duration) -> Int {
        max(1, Int(duration.wholeMilliseconds))
    }
}
