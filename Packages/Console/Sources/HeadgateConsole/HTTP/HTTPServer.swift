import CMicrohttpd
import Glibc
import HeadgateTransport

/// Something that is read piece by piece, as it comes, for as long as somebody reads.
protocol StreamSource: AnyObject {
    /// The next bytes, at most so many; none when there is nothing at present, nil when nothing more comes.
    func read(atMost count: Int) -> [UInt8]?
    /// The reader is gone. It is told once.
    func readerLeft()
}

/// What a request is answered with.
enum HTTPAnswer {
    /// All of it.
    case response(HTTPResponse)
    /// A stream of events, which ends when somebody wants it to.
    case events(any StreamSource)
}

/// An HTTP server on an event loop, made of libmicrohttpd.
///
/// libmicrohttpd has no thread here: the loop watches its one descriptor and calls it, so that all is on the loop's
/// thread and nothing is handed over. A request that waits for its answer, or a stream with nothing to say, is suspended
/// and costs nothing.
final class HTTPServer {
    /// Answers a request, at once or later.
    typealias Handler = (HTTPRequest, HTTPExchange) -> Void

    private let loop: EventLoop
    private let handler: Handler
    private var library: OpaquePointer?
    private var watch: DescriptorWatch?
    private lazy var timer = LoopTimer(on: loop) { [weak self] in self?.turn() }
    private var isTurnDue = false
    private var exchanges: [ObjectIdentifier: HTTPExchange] = [:]

    /// What one connection may cost: longer heads of requests are refused, and who neither reads nor writes is closed.
    private static let limits = cmicrohttpd_limits(
        connections: 1_200, bytes_per_connection: 16_384, idle_seconds: 20)

    /// Why there is no server; for people.
    struct Fault: Error, CustomStringConvertible {
        let description = "libmicrohttpd cannot start"
    }

    /// Serves what connects to a listening socket, whose descriptor it closes at its end.
    init(listening descriptor: Int32, on loop: EventLoop, _ handler: @escaping Handler) throws {
        self.loop = loop
        self.handler = handler
        let context = Unmanaged.passUnretained(self).toOpaque()
        library = cmicrohttpd_start(descriptor, Self.limits, Self.begin, Self.handle, Self.end, context)
        guard let library else { throw Fault() }
        watch = try DescriptorWatch(readable: cmicrohttpd_descriptor(library), on: loop) { [weak self] in self?.turn() }
    }

    /// Closes all connections, and the listening socket.
    func close() {
        guard let library else { return }
        watch = nil
        timer.cancel()
        // The library does not close what is suspended.
        for exchange in exchanges.values { exchange.resume() }
        self.library = nil
        MHD_stop_daemon(library)
    }

    private func turn() {
        guard let library else { return }
        MHD_run(library)
        var wait: UInt64 = 0
        if MHD_get_timeout(library, &wait) == cmicrohttpd_yes {
            timer.arm(after: .milliseconds(Int64(wait)))
        } else {
            timer.cancel()
        }
    }

    /// Has the library go on soon: it must not be called from its own callbacks.
    fileprivate func turnSoon() {
        guard !isTurnDue, library != nil else { return }
        isTurnDue = true
        loop.atEndOfTurn { [weak self] in
            self?.isTurnDue = false
            self?.turn()
        }
    }

    // MARK: What the library calls

    /// A request begins: this much is known of it.
    private static let begin:
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
            context, target, connection in
            guard let context, let target, let connection else { return nil }
            let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
            let exchange = HTTPExchange(on: connection, of: server, target: String(cString: target))
            server.exchanges[ObjectIdentifier(exchange)] = exchange
            return Unmanaged.passUnretained(exchange).toOpaque()
        }

    private static let handle: MHD_AccessHandlerCallback = { context, _, _, method, _, bytes, count, place in
        guard let context, let raw = place?.pointee, let method, let count else { return cmicrohttpd_no }
        let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(raw).takeUnretainedValue()
        if count.pointee > 0 {
            exchange.take(UnsafeRawBufferPointer(start: bytes, count: count.pointee))
            count.pointee = 0
            return cmicrohttpd_yes
        }
        return exchange.proceed(method: String(cString: method), server.handler) ? cmicrohttpd_yes : cmicrohttpd_no
    }

    private static let end: MHD_RequestCompletedCallback = { context, _, place, _ in
        guard let context, let raw = place?.pointee else { return }
        let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(raw).takeUnretainedValue()
        place?.pointee = nil
        server.exchanges[ObjectIdentifier(exchange)] = nil
        exchange.end()
    }
}

/// One request, and what becomes of it.
final class HTTPExchange {
    private weak var server: HTTPServer?
    private let connection: OpaquePointer
    private var request = HTTPRequest()
    private var stage = Stage.head
    private var isTooLarge = false
    private var isSuspended = false
    private var stream: (any StreamSource)?

    private enum Stage {
        /// The head has been read, or is being read.
        case head
        /// The body is being read.
        case body
        /// The answer is awaited.
        case asked
        /// The answer is there.
        case answered(HTTPAnswer)
        /// The answer is the library's.
        case queued
        /// Nobody wants an answer any more.
        case over
    }

    fileprivate init(on connection: OpaquePointer, of server: HTTPServer, target: String) {
        self.connection = connection
        self.server = server
        request.target = target
    }

    /// More of the body has come.
    fileprivate func take(_ bytes: UnsafeRawBufferPointer) {
        isTooLarge = isTooLarge || request.body.count + bytes.count > Self.longestBody
        if !isTooLarge { request.body += bytes }
    }

    /// The library can go on with the request.
    /// - Returns: whether it may; else it closes the connection.
    fileprivate func proceed(method: String, _ handler: HTTPServer.Handler) -> Bool {
        switch stage {
        case .head:
            request.method = method
            readHeaders()
            stage = .body
            let length = request.value("content-length").flatMap(Int.init) ?? 0
            return length <= Self.longestBody || queue(.words(413, "That is too much."))
        case .body where isTooLarge:
            return queue(.words(413, "That is too much."))
        case .body:
            stage = .asked
            handler(request, self)
            if case .answered(let answer) = stage { return queue(answer) }
            suspend()
            return true
        case .answered(let answer): return queue(answer)
        case .asked, .queued, .over: return true
        }
    }

    /// Lets the library go on with what was suspended: the answer is there, or the stream has more to say.
    func resume() {
        guard isSuspended else { return }
        isSuspended = false
        MHD_resume_connection(connection)
        server?.turnSoon()
    }

    fileprivate func end() {
        stage = .over
        isSuspended = false
        stream?.readerLeft()
        stream = nil
    }

    private func suspend() {
        isSuspended = true
        MHD_suspend_connection(connection)
    }

    /// Answers the request; once.
    func answer(_ answer: HTTPAnswer) {
        guard case .asked = stage else {
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
            stream = source
            // The exchange outlives the response: the library lets go of it before it tells of the end.
            let response = MHD_create_response_from_callback(
                UInt64.max, Self.pieceSize, Self.read, Unmanaged.passUnretained(self).toOpaque(), nil)
            let headers = [HTTPRequest.Header(name: "Content-Type", value: "text/event-stream; charset=utf-8")]
            return queue(response, status: 200, headers)
        }
    }

    private func queue(_ response: HTTPResponse) -> Bool {
        var body = response.body
        let made = body.withUnsafeMutableBytes {
            MHD_create_response_from_buffer($0.count, $0.baseAddress, cmicrohttpd_copied)
        }
        return queue(made, status: response.status, response.headers)
    }

    private func queue(_ response: OpaquePointer?, status: Int, _ headers: [HTTPRequest.Header]) -> Bool {
        guard let response else { return false }
        defer { MHD_destroy_response(response) }
        for header in headers + HTTPResponse.securityHeaders {
            MHD_add_response_header(response, header.name, header.value)
        }
        stage = .queued
        return MHD_queue_response(connection, UInt32(status), response) == cmicrohttpd_yes
    }

    private static let read: MHD_ContentReaderCallback = { context, _, buffer, count in
        guard let context, let buffer else { return -1 }
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(context).takeUnretainedValue()
        guard let bytes = exchange.stream?.read(atMost: count) else { return -1 }
        if bytes.isEmpty { exchange.suspend() }
        UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: bytes)
        return bytes.count
    }

    private static let longestBody = 16_384
    private static let pieceSize = 8_192
}
