import CCurl
import CUV
import HeadgateTransport

/// Tells libcurl when one of its sockets can be read or written.
final class SocketWatch {
    private let handle: UnsafeMutablePointer<uv_poll_t>
    private let action: (Int32) -> Void

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
        var events: UInt32 = 0
        if wanted & CURL_POLL_IN != 0 { events |= UV_READABLE.rawValue }
        if wanted & CURL_POLL_OUT != 0 { events |= UV_WRITABLE.rawValue }
        uv_poll_start(handle, Int32(events)) { handle, status, events in
            SocketWatch.of(handle).action(SocketWatch.bits(status, events))
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

    private static func bits(_ status: Int32, _ events: Int32) -> Int32 {
        guard status == 0 else { return CURL_CSELECT_ERR }
        let readable = UInt32(events) & UV_READABLE.rawValue != 0
        let writable = UInt32(events) & UV_WRITABLE.rawValue != 0
        return (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0)
    }
}
