import CUV

/// Calls back on the loop when the process gets a signal. It lives on the loop's thread, and dies with its owner.
public final class LoopSignal {
    private let loop: EventLoop
    private let handle: Handle

    /// Watches for signal `number`, like `SIGTERM`, whose usual effect it takes away.
    public init(_ number: Int32, on loop: EventLoop, _ action: @escaping () -> Void) throws(TransportError) {
        loop.preconditionCurrent()
        self.loop = loop
        handle = try Handle("uv_signal_init", in: loop.handles) { uv_signal_init($0, $1) }
        handle.onEvent = { _, _ in action() }
        let code = uv_signal_start(handle.raw(), { Handle.of($0).onEvent?(0, $1) }, number)
        guard code < 0 else { return }
        handle.close()
        throw .system(operation: "uv_signal_start", code: code)
    }

    deinit {
        loop.release(handle)
    }
}
