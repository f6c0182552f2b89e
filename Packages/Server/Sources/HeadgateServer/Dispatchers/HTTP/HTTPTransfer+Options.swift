import CCurl
import HeadgateCore

extension HTTPTransfer {
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
        // The pointer outlives the closure: the array is a constant of this object and so neither moved nor freed
        // before the transfer ends, and arrays have no other storage than their own on Linux. This spares a copy.
        request.body.withUnsafeBytes { bytes in
            set { ccurl_set_body($0, bytes.baseAddress, bytes.count) }
        }
    }

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

    private static let headerReader: curl_write_callback = { _, size, count, context in
        HTTPTransfer.of(context).takeHeader(size * count) ? size * count : 0
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
