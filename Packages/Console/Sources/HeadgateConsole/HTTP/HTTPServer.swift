import CMicrohttpd
import Glibc
import HeadgateTransport

/// A source of bytes that is read piece by piece until its end or until the reader leaves.
protocol StreamSource: AnyObject {
    /// Returns the next bytes, at most this many. Returns none if there are none now, and nil at the end.
    func read(atMost count: Int) -> [UInt8]?
    /// Called once when the reader has left.
    func readerLeft()
}

/// The answer to a request.
enum HTTPAnswer {
    /// A complete answer.
    case response(HTTPResponse)
    /// A stream of server-sent events, which ends when its source ends.
    case events(any StreamSource)
}

/// An HTTP server on an event loop, made with libmicrohttpd.
///
/// libmicrohttpd has no thread here. The loop watches its descriptor and calls it, so that everything runs on the
/// loop's thread. A request without an answer, or a stream without new data, is suspended and costs nothing.
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

    /// The limits of one connection. Longer heads are refused, and an idle connection is closed.
    private static let limits = cmicrohttpd_limits(
        connections: 1_200, bytes_per_connection: 16_384, idle_seconds: 20)

    /// The reason why there is no server, as a text for people.
    struct Fault: Error, CustomStringConvertible {
        let description = "libmicrohttpd cannot start"
    }

    /// Serves connections to a listening socket, whose descriptor the server closes at its end.
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
        // The library does not close suspended connections.
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

    /// Continues the library at the end of the turn, because its callbacks must not call it.
    func turnSoon() {
        guard !isTurnDue, library != nil else { return }
        isTurnDue = true
        loop.atEndOfTurn { [weak self] in
            self?.isTurnDue = false
            self?.turn()
        }
    }

    // MARK: Callbacks of the library

    /// A request begins. Only its target is known.
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
