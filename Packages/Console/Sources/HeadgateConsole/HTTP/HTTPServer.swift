import CMicrohttpd
import Glibc
import HeadgateData
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

/// An HTTP server on an event loop, based on libmicrohttpd.
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
    private var connections: OpenConnections<OpaquePointer>
    /// The timer that checks which connections must be closed. It runs while there are connections.
    private lazy var checkTimer = LoopTimer(on: loop) { [weak self] in self?.closeLate() }

    /// The limits of the library. Longer heads are refused, and a connection without traffic is closed. The library
    /// accepts some more connections than the server, so that the server chooses the one to close.
    private static let limits = cmicrohttpd_limits(
        connections: 1_264, bytes_per_connection: 16_384, idle_seconds: 20)
    /// The most connections.
    private static let mostConnections = 1_200
    /// The time for a request's head, and for its body.
    static let timeLimit = Duration.seconds(10)
    /// The time between two checks of the connections.
    private static let checkInterval = Duration.seconds(1)

    /// The reason why there is no server, as a text for people.
    struct Fault: Error, CustomStringConvertible {
        let description = "libmicrohttpd cannot start"
    }

    /// Serves connections to a listening socket, whose descriptor the server closes at its end.
    /// - Parameter timeLimit: the time for a request's head, and for its body.
    init(
        listening descriptor: Int32, on loop: EventLoop, timeLimit: Duration = HTTPServer.timeLimit,
        mostConnections: Int = HTTPServer.mostConnections, _ handler: @escaping Handler
    ) throws {
        self.loop = loop
        self.handler = handler
        connections = OpenConnections(most: mostConnections, timeLimit: timeLimit)
        let context = Unmanaged.passUnretained(self).toOpaque()
        library = cmicrohttpd_start(descriptor, Self.limits, Self.begin, Self.handle, Self.end, Self.changed, context)
        guard let library else { throw Fault() }
        watch = try DescriptorWatch(readable: cmicrohttpd_descriptor(library), on: loop) { [weak self] in self?.turn() }
    }

    /// Closes all connections, and the listening socket.
    func close() {
        guard let library else { return }
        watch = nil
        timer.cancel()
        checkTimer.cancel()
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

    /// Runs the library at the end of the loop's turn, because its callbacks must not run it.
    func turnSoon() {
        guard !isTurnDue, library != nil else { return }
        isTurnDue = true
        loop.atEndOfTurn { [weak self] in
            self?.isTurnDue = false
            self?.turn()
        }
    }

    // MARK: Connections

    private var now: Duration { .nanoseconds(loop.monotonicNow) }

    /// Notes that a connection has reached a part of a request.
    func reached(_ phase: OpenConnections<OpaquePointer>.Phase, _ connection: OpaquePointer) {
        connections.reached(phase, connection, at: now)
    }

    /// Notes that the client of a connection has a session or the token.
    func signedIn(_ connection: OpaquePointer) { connections.signedIn(connection) }

    private func opened(_ connection: OpaquePointer) {
        if connections.count == 0 { checkTimer.arm(after: Self.checkInterval) }
        if let surplus = connections.opened(connection, at: now) { drop(surplus) }
    }

    /// Closes connections whose request takes too long, or whose client has left.
    private func closeLate() {
        guard library != nil else { return }
        for connection in connections.overdue(at: now) + departed { drop(connection) }
        if connections.count > 0 { checkTimer.arm(after: Self.checkInterval) }
    }

    /// The connections whose client sends nothing more although the request is incomplete, or reads nothing more.
    private var departed: [OpaquePointer] {
        let all = Array(connections.all)
        var states = all.map { pollfd(fd: cmicrohttpd_socket($0), events: Int16(Self.ended), revents: 0) }
        guard poll(&states, nfds_t(states.count), 0) > 0 else { return [] }
        return zip(all, states).filter { connection, state in
            let lost = Int32(state.revents) & (POLLHUP | POLLERR) != 0
            // A client may close its sending side after a whole request and still read the answer. A client of a page's
            // stream that closes its sending side has left.
            let isWaiting = connections.phase(of: connection) == .answering && !isStreaming(connection)
            return lost || !isWaiting && Int32(state.revents) & Self.ended != 0
        }
        .map(\.0)
    }

    private func isStreaming(_ connection: OpaquePointer) -> Bool {
        exchanges.values.contains { $0.isStream(on: connection) }
    }

    /// Closes a connection. The library notices it in its next turn.
    private func drop(_ connection: OpaquePointer) {
        shutdown(cmicrohttpd_socket(connection), Int32(SHUT_RDWR))
        for exchange in exchanges.values where exchange.isOn(connection) { exchange.disconnected() }
        turnSoon()
    }

    /// The end of the client's sending side (Linux, `POLLRDHUP`).
    private static let ended: Int32 = 0x2000

    // MARK: Callbacks of the library

    /// Called when a connection was opened or closed.
    private static let changed: MHD_NotifyConnectionCallback = { context, connection, _, change in
        guard let context, let connection else { return }
        let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        if change == cmicrohttpd_opened {
            server.opened(connection)
        } else {
            server.connections.closed(connection)
        }
    }

    /// Called when a request begins. Only its target is known.
    private static let begin:
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
            context, target, connection in
            guard let context, let target, let connection else { return nil }
            let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
            let exchange = HTTPExchange(on: connection, of: server, target: String(cString: target))
            server.exchanges[ObjectIdentifier(exchange)] = exchange
            return Unmanaged.passUnretained(exchange).toOpaque()
        }

    private static let handle: MHD_AccessHandlerCallback = { context, _, _, method, _, bytes, count, slot in
        guard let context, let raw = slot?.pointee, let method, let count else { return cmicrohttpd_no }
        let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(raw).takeUnretainedValue()
        if count.pointee > 0 {
            exchange.take(UnsafeRawBufferPointer(start: bytes, count: count.pointee))
            count.pointee = 0
            return cmicrohttpd_yes
        }
        return exchange.proceed(method: String(cString: method), server.handler) ? cmicrohttpd_yes : cmicrohttpd_no
    }

    private static let end: MHD_RequestCompletedCallback = { context, connection, slot, _ in
        guard let context, let raw = slot?.pointee else { return }
        let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(raw).takeUnretainedValue()
        slot?.pointee = nil
        server.exchanges[ObjectIdentifier(exchange)] = nil
        exchange.end()
        if let connection { server.reached(.head, connection) }
    }
}
