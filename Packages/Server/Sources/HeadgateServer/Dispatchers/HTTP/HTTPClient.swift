import CCurl
import CUV
import Glibc
import HeadgateTransport

/// An HTTP client on the event loop, based on libcurl. All users share one pool of connections (Behaviour K1).
///
/// The client lives on the loop's thread. It follows the proxy settings of the environment (`https_proxy`, `no_proxy`
/// and so on), except for this machine's own addresses.
final class HTTPClient {
    let loop: EventLoop
    /// libcurl's multi handle, or nil once the client is closed.
    private var multi: UnsafeMutableRawPointer?
    /// The watches of the sockets that libcurl waits for.
    private var watches: [curl_socket_t: SocketWatch] = [:]
    /// The timer for libcurl's own deadline, or nil once the client is closed.
    private var timer: LoopTimer?

    private let userAgent: String
    private let noProxy = ProxyExceptions.ofEnvironment.text
    private let sockets = OpenSockets()
    /// True if a request was added and libcurl has not started it yet.
    private var hasNew = false
    private var transfers: [UnsafeMutableRawPointer: HTTPTransfer] = [:]
    /// The handles of requests that succeeded, the latest last.
    private var idle: [HTTPHandle] = []

    /// - Parameter userAgent: the `User-Agent` of requests that set none.
    init(loop: EventLoop, userAgent: String) {
        loop.preconditionCurrent()
        self.loop = loop
        self.userAgent = userAgent
        _ = Self.isPrepared
        ProcessSignals.ignoreWriteSignals()
        multi = curl_multi_init()
        timer = LoopTimer(on: loop) { [weak self] in self?.deadlineReached() }
        connectToLoop()
        // libcurl's default, four times the current requests, is often too small.
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.mostIdleConnections)
    }

    deinit {
        close()
    }

    /// Starts a request. Calls `then` on the loop with the outcome, exactly once and after this method returns. If the
    /// request is cancelled or the client is closed, `then` is not called.
    @discardableResult
    func send(_ request: HTTPRequest, then: @escaping (HTTPOutcome) -> Void) -> HTTPTransfer {
        let handle = takeHandle(to: request.target)
        let transfer = HTTPTransfer(request, by: handle, then)
        transfers[handle.easy] = transfer
        transfer.prepare()
        guard handle.optionError == CURLE_OK else {
            end(transfer, handle.optionOutcome)
            return transfer
        }
        hasNew = true
        let code = curl_multi_add_handle(multi, handle.easy)
        if code != CURLM_OK { end(transfer, .failed(cause: String(cString: curl_multi_strerror(code)))) }
        transfer.timer = LoopTimer(on: loop) { [weak self, weak transfer] in
            if let transfer { self?.timedOut(transfer) }
        }
        transfer.timer?.arm(after: request.target.timeout)
        return transfer
    }

    /// Ends a request that has timed out. libcurl's own timeout is not used: it would count the time in which the
    /// process was stopped. It would also end the request without reading an answer that has arrived.
    private func timedOut(_ transfer: HTTPTransfer) {
        guard remove(transfer) else { return }
        let outcome = transfer.outcome(CURLE_OPERATION_TIMEDOUT)
        curl_multi_remove_handle(multi, transfer.handle.easy)
        transfer.then(outcome)
    }

    /// Cancels a request without a report. A request that has ended is ignored.
    func cancel(_ transfer: HTTPTransfer) {
        guard remove(transfer) else { return }
        curl_multi_remove_handle(multi, transfer.handle.easy)
    }

    /// Forgets a transfer.
    /// - Returns: true if the transfer was in progress. Another transfer may use its handle by now.
    private func remove(_ transfer: HTTPTransfer) -> Bool {
        let easy = transfer.handle.easy
        guard transfers[easy] === transfer else { return false }
        transfers[easy] = nil
        return true
    }

    /// Cancels all requests and closes all connections. It must be called before the loop stops.
    func close() {
        guard let multi else { return }
        for transfer in Array(transfers.values) { cancel(transfer) }
        idle = []
        curl_multi_cleanup(multi)
        self.multi = nil
        timer = nil
        for watch in watches.values { watch.close() }
        watches = [:]
    }

    /// Reports the outcomes of the requests that have ended.
    private func settleEnded() {
        var left: Int32 = 0
        // `multi` is read again each time, because a callback may close the client.
        while let multi, let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let code = message.pointee.data.result
            guard let transfer = transfers.removeValue(forKey: easy) else { continue }
            let outcome = transfer.outcome(code)
            sockets.ended(easy)
            curl_multi_remove_handle(multi, easy)
            keep(transfer.handle, after: code)
            transfer.then(outcome)
        }
    }

    private func end(_ transfer: HTTPTransfer, _ outcome: HTTPOutcome) {
        loop.atEndOfTurn { [weak self] in
            guard self?.remove(transfer) == true else { return }
            transfer.then(outcome)
        }
    }

    private static let mostIdleConnections = 256
    private static let isPrepared: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    // MARK: Handles

    private func takeHandle(to target: HTTPRequest.Target) -> HTTPHandle {
        guard let index = idle.lastIndex(where: { $0.target == target }) else {
            return HTTPHandle(to: target, userAgent: userAgent, noProxy: noProxy, sockets: sockets)
        }
        return idle.remove(at: index)
    }

    /// Keeps the handle of a finished request for the next one to the same target. The URL of a GET contains its event,
    /// so its handle is not kept. Neither is the handle of a failed request, whose state is unknown.
    private func keep(_ handle: HTTPHandle, after code: CURLcode) {
        guard code == CURLE_OK, handle.target.method == .post else { return }
        handle.rest()
        idle.append(handle)
        if idle.count > Self.mostIdleHandles { idle.removeFirst() }
    }

    private static let mostIdleHandles = 8

    // MARK: The event loop

    /// Registers the callbacks by which libcurl says which sockets and deadlines it waits for.
    private func connectToLoop() {
        // Unretained: libcurl's multi handle is closed with the client at the latest.
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_set_socket_callback(multi, Self.socketChanged, context)
        ccurl_multi_set_timer_callback(multi, Self.timerChanged, context)
    }

    /// Continues libcurl after its deadline.
    private func deadlineReached() {
        perform(CURL_SOCKET_TIMEOUT, 0)
    }

    private func perform(_ socket: curl_socket_t, _ events: Int32) {
        guard let multi else { return }
        if hasNew { sockets.shutDownUnclean { watches[$0] != nil } }
        hasNew = false
        var running: Int32 = 0
        curl_multi_socket_action(multi, socket, events, &running)
        settleEnded()
    }

    private func watch(_ socket: curl_socket_t, for interest: Int32) {
        guard interest != CURL_POLL_REMOVE else {
            watches.removeValue(forKey: socket)?.close()
            return
        }
        sockets.opened(socket)
        let known = watches[socket]
        let watch = known ?? SocketWatch(socket, on: loop) { [weak self] events in self?.perform(socket, events) }
        watches[socket] = watch
        watch?.watch(for: interest)
    }

    private func setTimer(_ milliseconds: Int) {
        timer?.cancel()
        if milliseconds > 0 { timer?.arm(after: .milliseconds(milliseconds)) }
        // libcurl asks for a delay of 0 at the start of each request. A timer would fire only in the next millisecond.
        if milliseconds == 0 { loop.atEndOfTurn { [weak self] in self?.deadlineReached() } }
    }

    private static let socketChanged: curl_socket_callback = { _, socket, interest, context, _ in
        client(context).watch(socket, for: interest)
        return 0
    }

    private static let timerChanged: curl_multi_timer_callback = { _, milliseconds, context in
        client(context).setTimer(milliseconds)
        return 0
    }

    private static func client(_ context: UnsafeMutableRawPointer?) -> HTTPClient {
        // `connectToLoop` passes the pointer to libcurl, which returns it unchanged.
        Unmanaged<HTTPClient>.fromOpaque(context!).takeUnretainedValue()
    }
}

/// A watch of one of libcurl's sockets for reading and writing.
private final class SocketWatch {
    private let handle: UnsafeMutablePointer<uv_poll_t>
    private let action: (Int32) -> Void
    /// The events that libcurl waits for, in libcurl's bits.
    private var interest: Int32 = 0

    /// Makes a watch without events. Returns nil if the loop does not accept the socket. `action` gets libcurl's event
    /// bits.
    init?(_ socket: curl_socket_t, on loop: EventLoop, _ action: @escaping (Int32) -> Void) {
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        guard uv_poll_init(loop.raw, handle, socket) == 0 else {
            handle.deallocate()
            return nil
        }
        self.handle = handle
        self.action = action
        // libuv holds a reference until the close callback.
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
    }

    /// Sets the events to wait for: `CURL_POLL_IN`, `_OUT` or `_INOUT`.
    func watch(for interest: Int32) {
        guard uv_is_closing(base) == 0 else { return }
        self.interest = interest
        var events: UInt32 = 0
        if interest & CURL_POLL_IN != 0 { events |= UV_READABLE.rawValue }
        if interest & CURL_POLL_OUT != 0 { events |= UV_WRITABLE.rawValue }
        uv_poll_start(handle, Int32(events)) { handle, status, events in
            let watch = SocketWatch.of(handle)
            watch.action(SocketWatch.bits(status, events))
            // libuv stops watching after an error, and libcurl may not have read all bytes that came before.
            if status != 0 { watch.watch(for: watch.interest) }
        }
    }

    /// Stops all events at once. After this the socket may be closed and its number reused.
    func close() {
        // A stopped loop has closed the handle itself.
        guard uv_is_closing(base) == 0 else { return }
        uv_poll_stop(handle)
        uv_close(base) { closed in
            guard let closed else { return }
            // This release balances the retain in `init`.
            Unmanaged<SocketWatch>.fromOpaque(closed.pointee.data).release()
            closed.deallocate()
        }
    }

    private var base: UnsafeMutablePointer<uv_handle_t> {
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
    }

    private static func of(_ handle: UnsafeMutablePointer<uv_poll_t>?) -> SocketWatch {
        // libuv passes the handle of `init`, whose data `init` has set.
        Unmanaged<SocketWatch>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
    }

    /// Returns libcurl's bits for an event of libuv. They always include reading, and libcurl reads before it writes.
    /// So if a server has answered early and closed the connection, the answer is read before the connection counts as
    /// lost (Behaviour D6).
    ///
    /// After an error the bits include writing. If the server ended its side before the error, a read returns only that
    /// end. The error would stay, and libuv would report the socket again and again.
    private static func bits(_ status: Int32, _ events: Int32) -> Int32 {
        guard status == 0 else { return CURL_CSELECT_IN | CURL_CSELECT_OUT | CURL_CSELECT_ERR }
        let writable = UInt32(events) & UV_WRITABLE.rawValue != 0
        return CURL_CSELECT_IN | (writable ? CURL_CSELECT_OUT : 0)
    }
}

/// The secrets of the proxies that the environment names: user names and passwords, in every form (Behaviour X4).
enum ProxySecrets {
    /// The variables from which libcurl takes a proxy.
    private static let variables = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

    /// The secrets in the environment of this process.
    static let ofEnvironment = secrets { name in getenv(name).map { String(cString: $0) } }

    /// Returns the secrets in an environment.
    static func secrets(_ variable: (String) -> String?) -> [String] {
        variables.compactMap(variable).compactMap(URLCredentials.init(proxy:)).flatMap { $0.secrets + $0.userNames }
    }
}

/// The hosts that are reached without a proxy: those in `no_proxy` or `NO_PROXY`, read as curl reads them, and always
/// this machine.
struct ProxyExceptions: Equatable {
    /// The list in libcurl's form.
    let text: String

    /// Creates the list from the two environment variables.
    /// - Parameters:
    ///   - lowercase: the value of `no_proxy`. An empty value counts as absent.
    ///   - uppercase: the value of `NO_PROXY`.
    init(_ lowercase: String?, _ uppercase: String?) {
        let given = [lowercase, uppercase].compactMap(\.self).first { !$0.isEmpty }
        // libcurl reads an asterisk as all hosts only if it is the whole list.
        text = given == "*" ? "*" : [given, "localhost,127.0.0.0/8,::1"].compactMap(\.self).joined(separator: ",")
    }

    static var ofEnvironment: ProxyExceptions {
        ProxyExceptions(environment("no_proxy"), environment("NO_PROXY"))
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
