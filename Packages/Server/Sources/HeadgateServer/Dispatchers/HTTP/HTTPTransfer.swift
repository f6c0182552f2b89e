import CCurl
import Glibc
import HeadgateCore

/// One request on its way, and what has come of its answer.
final class HTTPTransfer {
    let request: HTTPRequest
    /// libcurl's side of it.
    let easy: UnsafeMutableRawPointer
    let then: (HTTPOutcome) -> Void

    /// The first option that libcurl did not take.
    private(set) var optionError = CURLE_OK
    private var lines: UnsafeMutablePointer<curl_slist>?
    private var kept: [UInt8] = []
    private var received = 0
    private var headerReceived = 0
    private var head = AnswerHead()

    init(_ request: HTTPRequest, _ then: @escaping (HTTPOutcome) -> Void) {
        self.request = request
        self.then = then
        // Nil only when there is no memory, with which Swift cannot go on either.
        easy = curl_easy_init()!
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(lines)
    }

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

    /// Adds a line to the request's header.
    private func add(_ line: String) {
        guard let extended = curl_slist_append(lines, line) else {
            optionError = CURLE_OUT_OF_MEMORY
            return
        }
        lines = extended
    }

    /// Hands the lines added so far to libcurl.
    private func setLines() {
        set { ccurl_set_list($0, CURLOPT_HTTPHEADER, lines) }
    }

    /// Takes a piece of the answer's body; false ends the transfer. A success is read to its end, as only a whole one
    /// counts; of any other answer the beginning will do.
    private func take(_ piece: UnsafeRawBufferPointer) -> Bool {
        received += piece.count
        let room = max(0, request.answerLimit - kept.count)
        kept.append(contentsOf: piece.prefix(room))
        return received <= Self.longestRefusal || (200..<300).contains(ccurl_status(easy))
    }

    /// Takes a line of the answer's header, interim answers' among them; false ends the transfer.
    private func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        head.take(line)
        headerReceived += line.count
        return headerReceived <= Self.longestHeader
    }

    /// What came of it, by libcurl's word.
    func outcome(_ code: CURLcode) -> HTTPOutcome {
        let status = ccurl_status(easy)
        let fault = code == CURLE_OK ? head.fault : code.cause(connectError: ccurl_connect_error(easy))
        guard status >= 200, head.isSound else { return .failed(cause: fault ?? "not an HTTP answer") }
        return .answered(HTTPAnswer(status: status, headers: answerHeaders, body: kept, fault: fault))
    }

    private var answerHeaders: [String: String] {
        var found: [String: String] = [:]
        for name in request.answerHeaders {
            found[name] = answerHeader(name)
        }
        return found
    }

    private func answerHeader(_ name: String) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        let ofLastAnswer: Int32 = -1
        let code = curl_easy_header(easy, name, 0, UInt32(CURLH_HEADER), ofLastAnswer, &header)
        guard code == CURLHE_OK else { return nil }
        return header.map { String(cString: $0.pointee.value) }
    }

    /// The most bytes of an answer that is no success; the connection is closed at more.
    private static let longestRefusal = 64 * 1024
    /// The most bytes of an answer's header; the connection is closed at more.
    private static let longestHeader = 64 * 1024

    // MARK: What libcurl is told

    /// Tells libcurl all about the request.
    func configure(userAgent: String, noProxy: String) {
        setTarget(noProxy: noProxy)
        setLimits()
        setTLS()
        setMethod()
        set(CURLOPT_USERAGENT, userAgent)
        for field in request.fields { add(field.line) }
        // libcurl would ask for leave before it sends a large body, and wait for an answer that few servers give.
        add("Expect:")
        setLines()
        setReader()
    }

    private func setTarget(noProxy: String) {
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_NOPROXY, request.unixSocket == nil && !request.isLoopback ? noProxy : "*")
        guard let path = request.unixSocket else { return }
        set(CURLOPT_UNIX_SOCKET_PATH, path)
    }

    private func setLimits() {
        set(CURLOPT_TIMEOUT_MS, Self.milliseconds(request.timeout))
        set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(request.connectTimeout))
        set(CURLOPT_NOSIGNAL, 1)
        if request.isSentOnce { setSentOnce() }
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
        set(CURLOPT_HTTP_VERSION, request.isSentOnce ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS)
        if let authorities = request.tls.authorities {
            set(CURLOPT_CAINFO_BLOB, authorities)
            // Or the system's certificates would be trusted besides.
            set(CURLOPT_CAINFO, nil)
            set(CURLOPT_CAPATH, nil)
        }
        if let certificate = request.tls.certificate { set(CURLOPT_SSLCERT_BLOB, certificate) }
        if let key = request.tls.key { set(CURLOPT_SSLKEY_BLOB, key) }
        // Or OpenSSL would ask the terminal for the passphrase of an encrypted key, and the loop would wait.
        set(CURLOPT_KEYPASSWD, "")
    }

    private func setMethod() {
        guard request.method == .post else { return set(CURLOPT_HTTPGET, 1) }
        set(CURLOPT_POST, 1)
        set(CURLOPT_UPLOAD_BUFFERSIZE, min(max(Self.usualPiece, request.body.count), Self.largestPiece))
        // The pointer outlives the closure: the array is a constant of this object and so neither moved nor freed
        // before the transfer ends, and arrays have no other storage than their own on Linux. This spares a copy.
        request.body.withUnsafeBytes { bytes in
            set { ccurl_set_body($0, bytes.baseAddress, bytes.count) }
        }
    }

    /// Bytes of a body that libcurl hands over in one turn of the loop, as it would by itself.
    private static let usualPiece = 64 * 1024
    /// The same of a large body: each piece costs a turn, and memory while the request is on its way.
    private static let largestPiece = 256 * 1024

    /// libcurl copies the bytes.
    private func set(_ option: CURLoption, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            set { ccurl_set_blob($0, option, bytes.baseAddress, bytes.count) }
        }
    }

    private func setReader() {
        // Unretained: the client keeps the transfer for as long as libcurl has it.
        let context = Unmanaged.passUnretained(self).toOpaque()
        set { ccurl_set_reader($0, Self.bodyReader, context) }
        set { ccurl_set_header_reader($0, Self.headerReader, context) }
    }

    private static let bodyReader: curl_write_callback = { bytes, size, count, context in
        let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return HTTPTransfer.of(context).take(piece) ? piece.count : 0
    }

    private static let headerReader: curl_write_callback = { bytes, size, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return HTTPTransfer.of(context).takeHeader(line) ? line.count : 0
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer {
        // `setReader` hands it to libcurl, which hands it back as it is.
        Unmanaged<HTTPTransfer>.fromOpaque(context!).takeUnretainedValue()
    }

    /// libcurl takes 0 for no limit.
    private static func milliseconds(_ duration: Duration) -> Int {
        max(1, Int(duration.wholeMilliseconds))
    }
}

extension CURLcode {
    /// The failure in a few words for people. It never holds more than these words, so no secret can get into it.
    /// - Parameter connectError: the `errno` of the last failed connect.
    func cause(connectError: Int) -> String {
        switch self {
        case CURLE_OPERATION_TIMEDOUT: "timed out"
        case CURLE_COULDNT_RESOLVE_HOST: "could not resolve host"
        case CURLE_COULDNT_RESOLVE_PROXY: "could not resolve proxy"
        case CURLE_COULDNT_CONNECT: Self.connectCause(Int32(truncatingIfNeeded: connectError))
        case CURLE_URL_MALFORMAT: "the endpoint is not a URL"
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR: "connection lost"
        default: tlsCause ?? answerCause ?? String(cString: curl_easy_strerror(self)).lowercased()
        }
    }

    private var tlsCause: String? {
        switch self {
        case CURLE_PEER_FAILED_VERIFICATION: "TLS: certificate not trusted"
        case CURLE_SSL_CERTPROBLEM: "TLS: client certificate or key not usable"
        case CURLE_SSL_CACERT_BADFILE: "TLS: CA file not usable"
        case CURLE_SSL_CONNECT_ERROR: "TLS: handshake failed"
        case CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_SHUTDOWN_FAILED:
            "TLS: \(String(cString: curl_easy_strerror(self)).lowercased())"
        default: nil
        }
    }

    private var answerCause: String? {
        switch self {
        case CURLE_GOT_NOTHING: "connection closed without an answer"
        case CURLE_PARTIAL_FILE: "answer cut short"
        // The second is libcurl's word for a header line longer than it takes. Without memory Swift would have stopped.
        case CURLE_WRITE_ERROR, CURLE_OUT_OF_MEMORY: "answer too long"
        // libcurl knows a scheme or an answer that it does not take by the same code; settings let no other scheme in.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL: "not an HTTP answer"
        case CURLE_HTTP2, CURLE_HTTP2_STREAM: "HTTP/2 failure"
        default: nil
        }
    }

    private static func connectCause(_ error: Int32) -> String {
        switch error {
        case ECONNREFUSED: "connection refused"
        case ENETUNREACH: "network unreachable"
        case EHOSTUNREACH: "host unreachable"
        case ENOENT: "no such socket"
        case EACCES, EPERM: "permission denied"
        case ETIMEDOUT: "timed out"
        default: "could not connect"
        }
    }
}
