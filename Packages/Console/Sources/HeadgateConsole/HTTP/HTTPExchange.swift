import CMicrohttpd
import HeadgateTransport

/// One HTTP request and its answer.
final class HTTPExchange {
    private weak var server: HTTPServer?
    private let connection: OpaquePointer
    private var request = HTTPRequest()
    private var stage: Stage
    /// True while libmicrohttpd has the connection suspended and calls nothing for it. That is the case in two stages:
    /// while the handler has not answered, and while a stream has nothing to send.
    private var isSuspended = false

    /// The part of the exchange that is in progress. Each stage may be followed by `over`, because the connection may
    /// be lost at any time. An answer in another stage than `requested` is dropped.
    enum Stage {
        /// The head is being read. Next: `body`, or `queued` if the head announces a body that is too long.
        case head
        /// The body is being read. Next: `requested`, or `longBody`.
        case body
        /// The body is too long; the rest of it is ignored. Next: `queued`.
        case longBody
        /// The handler has the request and has not answered. Next: `answered`.
        case requested
        /// The handler has answered. Next: `queued` or `streaming`.
        case answered(HTTPAnswer)
        /// The library has the answer. Next: `over`.
        case queued
        /// The library has an answer that ends with its connection, and reads from this stream. Next: `queued`, when
        /// the connection is about to be closed.
        case streaming(any StreamSource)
        /// The request is over, and no answer is needed. This is the last stage.
        case over
    }

    init(on connection: OpaquePointer, of server: HTTPServer?, target: String, stage: Stage = .head) {
        self.connection = connection
        self.server = server
        self.stage = stage
        request.target = target
    }

    /// Adds bytes of the body.
    func take(_ bytes: UnsafeRawBufferPointer) {
        guard case .body = stage else { return }
        if request.body.count + bytes.count > Self.longestBody { stage = .longBody } else { request.body += bytes }
    }

    /// Continues the request. Called when the library can read or write for it.
    /// - Returns: false to close the connection.
    func proceed(method: String, _ handler: HTTPServer.Handler) -> Bool {
        switch stage {
        case .head:
            request.method = method
            readHeaders()
            stage = .body
            server?.reached(.body, connection)
            let length = request.value("content-length").flatMap(Int.init) ?? 0
            return length <= Self.longestBody || queue(.words(413, "The request is too long."))
        case .longBody:
            server?.reached(.answering, connection)
            return queue(.words(413, "The request is too long."))
        case .body:
            stage = .requested
            server?.reached(.answering, connection)
            handler(request, self)
            if case .answered(let answer) = stage { return queue(answer) }
            suspend()
            return true
        case .answered(let answer): return queue(answer)
        case .requested, .queued, .streaming, .over: return true
        }
    }

    /// Resumes a suspended request, because its answer or more of its stream is ready.
    func resume() {
        guard isSuspended else { return }
        isSuspended = false
        MHD_resume_connection(connection)
        server?.turnSoon()
    }

    /// Notes that the request's client has a session or the token.
    func signedIn() { server?.signedIn(connection) }

    func isOn(_ other: OpaquePointer) -> Bool { connection == other }

    /// Returns true if the request's answer is a stream on this connection.
    func isStream(on other: OpaquePointer) -> Bool {
        if case .streaming = stage { connection == other } else { false }
    }

    /// Ends the answer, because the connection is about to be closed.
    func disconnected() {
        if case .streaming(let source) = stage {
            source.readerLeft()
            stage = .queued
        }
        resume()
    }

    /// Ends the request, because it is answered or its connection is gone.
    func end() {
        switch stage {
        // The browser may have left before the library took the answer.
        case .answered(.events(let source)), .streaming(let source): source.readerLeft()
        default: break
        }
        (stage, isSuspended) = (.over, false)
    }

    private func suspend() {
        isSuspended = true
        MHD_suspend_connection(connection)
    }

    /// Answers the request. A second answer is dropped.
    func answer(_ answer: HTTPAnswer) {
        guard case .requested = stage else {
            if case .events(let source) = answer { source.readerLeft() }
            return
        }
        stage = .answered(answer)
        resume()
    }

    private func readHeaders() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        MHD_get_connection_values(
            connection, cmicrohttpd_headers,
            { context, _, name, value in
                guard let context, let name else { return cmicrohttpd_yes }
                let exchange = Unmanaged<HTTPExchange>.fromOpaque(context).takeUnretainedValue()
                exchange.request.headers.append(
                    HTTPRequest.Header(
                        name: String(cString: name).lowercased(), value: value.map { String(cString: $0) } ?? ""))
                return cmicrohttpd_yes
            }, context)
    }

    // MARK: Answers

    private func queue(_ answer: HTTPAnswer) -> Bool {
        switch answer {
        case .response(let response): return queue(response)
        case .events(let source):
            // The exchange outlives the response: the library releases the response before it reports the end of the
            // request.
            let response = MHD_create_response_from_callback(
                UInt64.max, Self.pieceSize, Self.read, Unmanaged.passUnretained(self).toOpaque(), nil)
            let headers = [HTTPRequest.Header(name: "Content-Type", value: "text/event-stream; charset=utf-8")]
            return queue(response, status: 200, headers, .streaming(source))
        }
    }

    private func queue(_ response: HTTPResponse) -> Bool {
        var body = response.body
        let made = body.withUnsafeMutableBytes {
            MHD_create_response_from_buffer($0.count, $0.baseAddress, cmicrohttpd_copied)
        }
        return queue(made, status: response.status, response.headers, .queued)
    }

    private func queue(
        _ response: OpaquePointer?, status: Int, _ headers: [HTTPRequest.Header], _ next: Stage
    ) -> Bool {
        guard let response else { return false }
        defer { MHD_destroy_response(response) }
        for header in headers + HTTPResponse.securityHeaders {
            MHD_add_response_header(response, header.name, header.value)
        }
        stage = next
        return MHD_queue_response(connection, UInt32(status), response) == cmicrohttpd_yes
    }

    private static let read: MHD_ContentReaderCallback = { context, _, buffer, count in
        guard let context, let buffer else { return -1 }
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(context).takeUnretainedValue()
        guard case .streaming(let source) = exchange.stage, let bytes = source.read(atMost: count) else { return -1 }
        if bytes.isEmpty { exchange.suspend() }
        UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: bytes)
        return bytes.count
    }

    private static let longestBody = 16_384
    private static let pieceSize = 8_192
}
