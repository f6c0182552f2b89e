import CCurl
import HeadgateTransport

extension HTTPClient {
    /// Lets libcurl say what it waits for: it is called only when that has come.
    func connectToLoop() {
        // Unretained: libcurl's side is closed with the client at the latest.
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_set_socket_callback(multi, Self.socketChanged, context)
        ccurl_multi_set_timer_callback(multi, Self.timerChanged, context)
    }

    /// Libcurl's own deadline has come.
    func timeHasCome() {
        perform(CURL_SOCKET_TIMEOUT, 0)
    }

    private func perform(_ socket: curl_socket_t, _ events: Int32) {
        guard let multi else { return }
        var running: Int32 = 0
        curl_multi_socket_action(multi, socket, events, &running)
        settleEnded()
    }

    private func watch(_ socket: curl_socket_t, for wanted: Int32) {
        guard wanted != CURL_POLL_REMOVE else {
            watches.removeValue(forKey: socket)?.close()
            return
        }
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
