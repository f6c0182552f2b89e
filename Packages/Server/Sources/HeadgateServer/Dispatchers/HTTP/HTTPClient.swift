import CCurl
import HeadgateTransport

/// Sends HTTP requests by libcurl, driven by the event loop: one pool of connections for all who send (Behaviour K1).
///
/// It lives on the loop's thread. The proxy settings of the environment (`https_proxy`, `no_proxy` and so on) hold,
/// except for this machine's own addresses.
final class HTTPClient {
    let loop: EventLoop
    /// libcurl's side of it; nil once it is closed.
    private(set) var multi: UnsafeMutableRawPointer?
    /// What libcurl waits for, by socket.
    var watches: [curl_socket_t: SocketWatch] = [:]
    /// libcurl's own deadline; nil once the client is closed.
    private(set) var timer: LoopTimer?

    private let userAgent: String
    private let noProxy = ProxyExceptions.ofEnvironment
    private var transfers: [UnsafeMutableRawPointer: HTTPTransfer] = [:]

    /// - Parameter userAgent: The `User-Agent` of all requests that bring none.
    init(loop: EventLoop, userAgent: String) {
        loop.preconditionCurrent()
        self.loop = loop
        self.userAgent = userAgent
        _ = Self.isPrepared
        _ = BrokenPipe.isIgnored
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
        let transfer = HTTPTransfer(request, then)
        transfers[transfer.easy] = transfer
        transfer.configure(userAgent: userAgent, noProxy: noProxy)
        guard transfer.optionError == CURLE_OK else {
            end(transfer, cause: transfer.optionError.cause(connectError: 0))
            return transfer
        }
        let code = curl_multi_add_handle(multi, transfer.easy)
        if code != CURLM_OK { end(transfer, cause: String(cString: curl_multi_strerror(code))) }
        return transfer
    }

    /// Gives a request up; what it would have come to is not told. One that has ended already is none of its business.
    func cancel(_ transfer: HTTPTransfer) {
        guard transfers.removeValue(forKey: transfer.easy) != nil else { return }
        curl_multi_remove_handle(multi, transfer.easy)
    }

    /// Gives all requests up and closes all connections. Call it before the loop stops.
    func close() {
        guard let multi else { return }
        for transfer in Array(transfers.values) { cancel(transfer) }
        curl_multi_cleanup(multi)
        self.multi = nil
        timer = nil
        for watch in watches.values { watch.close() }
        watches = [:]
    }

    /// Tells those whose requests have ended what came of them.
    func settleEnded() {
        var left: Int32 = 0
        // Looked at afresh each time: who is told may close the client.
        while let multi, let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let code = message.pointee.data.result
            guard let transfer = transfers.removeValue(forKey: easy) else { continue }
            curl_multi_remove_handle(multi, easy)
            transfer.then(transfer.outcome(code))
        }
    }

    private func end(_ transfer: HTTPTransfer, cause: String) {
        loop.atEndOfTurn { [weak self] in
            guard self?.transfers.removeValue(forKey: transfer.easy) != nil else { return }
            transfer.then(.failed(cause: cause))
        }
    }

    private static let mostIdleConnections = 256
    private static let isPrepared: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
