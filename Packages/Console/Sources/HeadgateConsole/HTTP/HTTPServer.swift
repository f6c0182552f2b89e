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
    func turnSoon() {
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
