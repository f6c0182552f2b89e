import CCurl
import CUV
import Glibc
import HeadgateTransport

/// Sends HTTP requests by libcurl, driven by the event loop: one pool of connections for all who send (Behaviour K1).
///
/// It lives on the loop's thread. The proxy settings of the environment (`https_proxy`, `no_proxy` and so on) hold,
/// except for this machine's own addresses.
final class HTTPClient {
    let loop: EventLoop
    /// libcurl's side of it; nil once it is closed.
    private var multi: UnsafeMutableRawPointer?
    /// What libcurl waits for, by socket.
    private var watches: [curl_socket_t: SocketWatch] = [:]
    /// libcurl's own deadline; nil once the client is closed.
    private var timer: LoopTimer?

    private let userAgent: String
    private let noProxy = ProxyExceptions.ofEnvironment.text
    private let sockets = OpenSockets()
    /// True if a request was added that libcurl has not begun.
    private var hasNew = false
    private var transfers: [UnsafeMutableRawPointer: HTTPTransfer] = [:]
    /// Handles of requests that have ended well, the last behind the others.
    private var idle: [HTTPHandle] = []

    /// - Parameter userAgent: The `User-Agent` of all requests that bring none.
    init(loop: EventLoop, userAgent: String) {
        loop.preconditionCurrent()
        self.loop = loop
        self.userAgent = userAgent
        _ = Self.isPrepared
        ProcessSignals.ignoreWriteSignals()
        multi = curl_multi_init()
        timer = LoopTimer(on: loop) { [weak self] in self?.timeHasCome() }
        connectToLoop()
        // By default libcurl keeps four times as many connections as there are requests at the moment: often too few.
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.mostIdleConnections)
    }

    deinit {
        close()
    }

    /// Starts a request; `then` is called on the loop with what came of it: once, and never before this returns; not at
    /// all when it is cancelled or the client closed.
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

    /// A request has had its time. libcurl would also count the time in which the process stood still, and would not look first
    /// whether the answer has come meanwhile.
    private func timedOut(_ transfer: HTTPTransfer) {
        guard remove(transfer) else { return }
        let outcome = transfer.outcome(CURLE_OPERATION_TIMEDOUT)
        curl_multi_remove_handle(multi, transfer.handle.easy)
        transfer.then(outcome)
    }

    /// Gives a request up; what it would have come to is not told. One that has ended already is none of its business.
    func cancel(_ transfer: HTTPTransfer) {
        guard remove(transfer) else { return }
        curl_multi_remove_handle(multi, transfer.handle.easy)
    }

    /// - Returns: whether it was on its way. Its handle may be another's by now.
    private func remove(_ transfer: HTTPTransfer) -> Bool {
        let easy = transfer.handle.easy
        guard transfers[easy] === transfer else { return false }
        transfers[easy] = nil
        return true
    }

    /// Gives all requests up and closes all connections. Call it before the loop stops.
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

    /// Tells those whose requests have ended what came of them.
    private func settleEnded() {
        var left: Int32 = 0
        // Looked at afresh each time: who is told may close the client.
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
        guard let place = idle.lastIndex(where: { $0.target == target }) else {
            return HTTPHandle(to: target, userAgent: userAgent, noProxy: noProxy, sockets: sockets)
        }
        return idle.remove(at: place)
    }

    /// Keeps the handle of a request that has ended, if another may go the same way: the URL of a GET has its event in it. One that
    /// failed may have come to anything.
    private func keep(_ handle: HTTPHandle, after code: CURLcode) {
        guard code == CURLE_OK, handle.target.method == .post else { return }
        handle.rest()
        idle.append(handle)
        if idle.count > Self.mostIdleHandles { idle.removeFirst() }
    }

    private static let mostIdleHandles = 8

    // MARK: The loop

    /// Lets libcurl say what it waits for: it is called only when that has come.
    private func connectToLoop() {
        // Unretained: libcurl's side is closed with the client at the latest.
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_set_socket_callback(multi, Self.socketChanged, context)
        ccurl_multi_set_timer_callback(multi, Self.timerChanged, context)
    }

    /// Libcurl's own deadline has come.
    private func timeHasCome() {
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

    private func watch(_ socket: curl_socket_t, for wanted: Int32) {
        guard wanted != CURL_POLL_REMOVE else {
            watches.removeValue(forKey: socket)?.close()
            return
        }
        sockets.opened(socket)
        let known = watches[socket]
        let watch = known ?? SocketWatch(socket, on: loop) { [weak self] events in self?.perform(socket, events) }
        watches[socket] = watch
        watch?.watch(for: wanted)
    }

    private func setTimer(_ milliseconds: Int) {
        timer?.cancel()
        if milliseconds > 0 { timer?.arm(after: .milliseconds(milliseconds)) }
        // Each request begins so. A timer would only fire in the next millisecond.
        if milliseconds == 0 { loop.atEndOfTurn { [weak self] in self?.timeHasCome() } }
    }

    private static let socketChanged: curl_socket_callback = { _, socket, wanted, context, _ in
        client(context).watch(socket, for: wanted)
        return 0
    }

    private static let timerChanged: curl_multi_timer_callback = { _, milliseconds, context in
        client(context).setTimer(milliseconds)
        return 0
    }

    private static func client(_ context: UnsafeMutableRawPointer?) -> HTTPClient {
        // `connectToLoop` hands it to libcurl, which hands it back as it is.
        Unmanaged<HTTPClient>.fromOpaque(context!).takeUnretainedValue()
    }
}

/// Tells libcurl when one of its sockets can be read or written.
private final class SocketWatch {
    private let handle: UnsafeMutablePointer<uv_poll_t>
    private let action: (Int32) -> Void
    /// What libcurl waits for, in its own bits.
    private var wanted: Int32 = 0

    /// Watches nothing yet; nil when the loop does not take the socket. `action` gets libcurl's event bits.
    init?(_ socket: curl_socket_t, on loop: EventLoop, _ action: @escaping (Int32) -> Void) {
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        guard uv_poll_init(loop.raw, handle, socket) == 0 else {
            handle.deallocate()
            return nil
        }
        self.handle = handle
        self.action = action
        // Retained while libuv may come back with it, that is until the close callback.
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
    }

    /// Watches for what libcurl asks for, `CURL_POLL_IN`, `_OUT` or `_INOUT`, and no longer for anything else.
    func watch(for wanted: Int32) {
        guard uv_is_closing(base) == 0 else { return }
        self.wanted = wanted
        var events: UInt32 = 0
        if wanted & CURL_POLL_IN != 0 { events |= UV_READABLE.rawValue }
        if wanted & CURL_POLL_OUT != 0 { events |= UV_WRITABLE.rawValue }
        uv_poll_start(handle, Int32(events)) { handle, status, events in
            let watch = SocketWatch.of(handle)
            watch.action(SocketWatch.bits(status, events))
            // libuv stops watching after an error; libcurl may have read only a part of what came before it.
            if status != 0 { watch.watch(for: watch.wanted) }
        }
    }

    /// Ends all events at once. The socket may be closed, and its number used again, as soon as this returns.
    func close() {
        // A loop that has stopped has closed the handle itself.
        guard uv_is_closing(base) == 0 else { return }
        uv_poll_stop(handle)
        uv_close(base) { closed in
            guard let closed else { return }
            // The other half of the retain in `init`.
            Unmanaged<SocketWatch>.fromOpaque(closed.pointee.data).release()
            closed.deallocate()
        }
    }

    private var base: UnsafeMutablePointer<uv_handle_t> {
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
    }

    private static func of(_ handle: UnsafeMutablePointer<uv_poll_t>?) -> SocketWatch {
        // libuv calls back with the handle that `init` gave it, whose data `init` has filled in.
        Unmanaged<SocketWatch>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
    }

    /// libcurl's bits for what libuv reports. libcurl always reads before it writes: a server that has answered early and closed
    /// the connection is heard before the connection counts as lost (Behaviour D6).
    private static func bits(_ status: Int32, _ events: Int32) -> Int32 {
        guard status == 0 else { return CURL_CSELECT_IN | CURL_CSELECT_ERR }
        let writable = UInt32(events) & UV_WRITABLE.rawValue != 0
        return CURL_CSELECT_IN | (writable ? CURL_CSELECT_OUT : 0)
    }
}

/// The hosts that are reached without a proxy: those that `no_proxy` or `NO_PROXY` names, read as curl reads them, and always
/// this machine itself.
struct ProxyExceptions: Equatable {
    /// The list in libcurl's form.
    let text: String

    /// - Parameters:
    ///   - lowercase: the value of `no_proxy`; an empty one counts as absent.
    ///   - uppercase: the value of `NO_PROXY`.
    init(_ lowercase: String?, _ uppercase: String?) {
        let given = [lowercase, uppercase].compactMap(\.self).first { !$0.isEmpty }
        // libcurl takes an asterisk for all hosts only where it stands alone.
        text = given == "*" ? "*" : [given, "localhost,127.0.0.0/8,::1"].compactMap(\.self).joined(separator: ",")
    }

    static var ofEnvironment: ProxyExceptions {
        ProxyExceptions(environment("no_proxy"), environment("NO_PROXY"))
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
