import CCurl
import Glibc

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
