import CUV

/// Tells when a descriptor that somebody else owns can be read. It lives on the loop's thread, and dies with its owner;
/// the descriptor may be closed after it.
public final class DescriptorWatch {
    private let loop: EventLoop
    private let handle: Handle

    /// Calls `action` whenever `descriptor` can be read, until the watch is gone. A failure of the descriptor is told
    /// once and ends the watch (libuv stops there): make a new one to go on.
    public init(readable descriptor: Int32, on loop: EventLoop, _ action: @escaping () -> Void) throws(TransportError) {
        loop.preconditionCurrent()
        self.loop = loop
        handle = try Handle("uv_poll_init", in: loop.handles) { uv_poll_init($0, $1, descriptor) }
        handle.onEvent = { _, _ in action() }
        uv_poll_start(handle.raw(), Int32(UV_READABLE.rawValue)) { Handle.of($0).onEvent?($1, $2) }
    }

    deinit {
        loop.release(handle)
    }
}
