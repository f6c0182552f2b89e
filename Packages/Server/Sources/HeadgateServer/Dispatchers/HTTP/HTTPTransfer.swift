import CCurl
import Glibc
import HeadgateCore
import HeadgateTransport

/// One request in progress, and the part of its answer that has arrived.
final class HTTPTransfer {
    let request: HTTPRequest
    let handle: HTTPHandle
    let then: (HTTPOutcome) -> Void
    /// The timer that ends the request when its time is over.
    var timer: LoopTimer?

    private var kept: [UInt8] = []
    private var received = 0
    private var headerReceived = 0
    private var head = AnswerHead()
    /// True if the server says that the body is compressed.
    private var isCompressed = false

    /// - Parameter handle: a libcurl handle that no other request uses now.
    init(_ request: HTTPRequest, by handle: HTTPHandle, _ then: @escaping (HTTPOutcome) -> Void) {
        (self.request, self.handle, self.then) = (request, handle, then)
    }

    private var easy: UnsafeMutableRawPointer { handle.easy }

    /// Sets the handle's options for this request, and its readers.
    func prepare() {
        handle.prepare(request)
        // Unretained: the client keeps the transfer as long as libcurl uses it.
        handle.setReader(Self.bodyReader, Self.headerReader, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Takes a part of the answer's body. Returns false to end the transfer. An answer 2xx is read to its end, because
    /// an incomplete one is no success. Only the beginning of other answers is needed.
    private func take(_ piece: UnsafeRawBufferPointer) -> Bool {
        received += piece.count
        let room = max(0, mostKept - kept.count)
        kept.append(contentsOf: piece.prefix(room))
        guard received > Self.longestRefusal else { return true }
        return (200..<300).contains(ccurl_status(easy)) && received <= request.longestSuccess ?? .max
    }

    /// The most bytes of the body to keep. A compressed body needs more, because a few bytes may decompress to nothing.
    private var mostKept: Int {
        isCompressed && request.answerLimit > 0 ? max(request.answerLimit, Self.longestRefusal) : request.answerLimit
    }

    /// Takes a line of a head, also of an interim answer. Returns false to end the transfer.
    private func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        head.take(line)
        isCompressed = isCompressed || AnswerText.isCodingHeader(line)
        headerReceived += line.count
        return headerReceived <= Self.longestHeader
    }

    /// Returns the outcome for libcurl's result code.
    func outcome(_ code: CURLcode) -> HTTPOutcome {
        let status = ccurl_status(easy)
        let fault = code == CURLE_OK ? head.fault : code.cause(connectError: ccurl_connect_error(easy))
        guard status >= 200, head.isSound else { return failure(code, fault ?? "not an HTTP answer") }
        let headers = answerHeaders(CURLH_HEADER)
        let isWhole = head.fault == nil && isBodyWhole(status)
        return .answered(HTTPAnswer(status: status, headers: headers, body: kept, fault: isWhole ? nil : fault))
    }

    /// Returns true if the answer's body is complete. A server may send its whole answer before it has read the
    /// request, and then end the HTTP/2 stream (RFC 9113, 8.1). libcurl calls that a failure.
    private func isBodyWhole(_ status: Int) -> Bool {
        guard received <= request.longestSuccess ?? .max else { return false }
        if status == 204 { return received == 0 }
        return answerHeader("Content-Length", CURLH_HEADER).flatMap { Int($0) } == received
    }

    private func failure(_ code: CURLcode, _ cause: String) -> HTTPOutcome {
        let proxyStatus = ccurl_connect_status(easy)
        if code == CURLE_RECV_ERROR, proxyStatus >= 300 {
            let headers = answerHeaders(CURLH_CONNECT)
            return .refusedByProxy(HTTPAnswer(status: proxyStatus, headers: headers, body: []))
        }
        // libcurl returns this code for a request longer than it can make.
        let isUnmade = code == CURLE_OUT_OF_MEMORY && ccurl_request_size(easy) == 0
        if isUnmade, handle.target.method == .get { return .unmade(cause: HTTPOutcome.longURL) }
        return .failed(cause: cause, isLost: code.isLoss && isBodyUnread)
    }

    /// True if the server may not have read the whole request body: libcurl, or the system's buffers, may still hold a
    /// part of it.
    private var isBodyUnread: Bool {
        ccurl_uploaded(easy) < request.body.count || request.body.count > HTTPTransfer.longestReadBody
    }

    /// The most bytes of a body that a server is assumed to have read if the connection is lost after the body was
    /// sent.
    private static let longestReadBody = 16 << 10

    private func answerHeaders(_ origin: Int32) -> [String: String] {
        var found: [String: String] = [:]
        for name in request.answerHeaders {
            found[name] = answerHeader(name, origin)
        }
        return found
    }

    private func answerHeader(_ name: String, _ origin: Int32) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        let ofLastAnswer: Int32 = -1
        let code = curl_easy_header(easy, name, 0, UInt32(origin), ofLastAnswer, &header)
        guard code == CURLHE_OK else { return nil }
        return header.map { String(cString: $0.pointee.value) }
    }

    /// The most bytes of an answer that is no success. The connection is closed at more.
    private static let longestRefusal = 64 * 1024
    /// The most bytes of an answer's heads. The connection is closed at more.
    private static let longestHeader = 64 * 1024

    private static let bodyReader: curl_write_callback = { bytes, size, count, context in
        let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return HTTPTransfer.of(context).take(piece) ? piece.count : 0
    }

    private static let headerReader: curl_write_callback = { bytes, size, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return HTTPTransfer.of(context).takeHeader(line) ? line.count : 0
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer {
        // `setReader` passes the pointer to libcurl, which returns it unchanged.
        Unmanaged<HTTPTransfer>.fromOpaque(context!).takeUnretainedValue()
    }
}

extension CURLcode {
    /// True if the code means that the connection was lost before an answer came.
    fileprivate var isLoss: Bool {
        switch self {
        // libcurl returns `CURLE_PARTIAL_FILE` if a server ends an HTTP/2 session without an answer.
        case CURLE_PARTIAL_FILE: true
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM: true
        default: false
        }
    }

    /// Returns the failure as a short text for people. It is always one of a few fixed texts, so it contains no secret.
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
        // libcurl returns `CURLE_OUT_OF_MEMORY` for a header line that is too long. Without memory Swift would have
        // stopped.
        case CURLE_WRITE_ERROR, CURLE_OUT_OF_MEMORY: "answer too long"
        // libcurl uses one code for an unknown scheme and for an unknown answer. The settings allow no other scheme.
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
