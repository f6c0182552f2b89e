import CUV

/// A libuv handle whose memory is freed only after libuv has closed it. The registry retains the handle until then, so
/// its creator may be released earlier.
final class Handle {
    /// Called for libuv's event: with status and events of a poll, with the number of a signal, or with zeros.
    @exclusivity(unchecked) var onEvent: ((Int32, Int32) -> Void)?
    /// Called once, after libuv has closed the handle.
    var onClosed: (() -> Void)?
    /// False as soon as the handle is being closed.
    @exclusivity(unchecked) private(set) var isOpen = true

    private let memory: UnsafeMutableRawPointer
    // The registry lives as long as the loop, and contains every open handle.
    private unowned let registry: HandleRegistry

    /// Creates a handle with libuv's function for its kind.
    init<Raw>(
        _ operation: String, in registry: HandleRegistry,
        _ initialize: (UnsafeMutablePointer<uv_loop_t>, UnsafeMutablePointer<Raw>) -> Int32
    ) throws(TransportError) {
        guard !registry.isSealed else { throw .loopClosed }
        let raw = UnsafeMutablePointer<Raw>.allocate(capacity: 1)
        let code = initialize(registry.loop, raw)
        guard code >= 0 else {
            raw.deallocate()
            throw .system(operation: operation, code: code)
        }
        self.memory = UnsafeMutableRawPointer(raw)
        self.registry = registry
        // Not retained: the registry retains the handle for as long as libuv may use this pointer.
        base.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        registry.add(self, at: memory)
    }

    /// Returns the handle as a pointer to libuv's type of its kind, like `uv_timer_t`. The caller must know the type.
    func raw<Raw>(as: Raw.Type = Raw.self) -> UnsafeMutablePointer<Raw> {
        memory.assumingMemoryBound(to: Raw.self)
    }

    /// Returns the object of a handle that libuv passes to a callback.
    static func of(_ raw: UnsafeMutableRawPointer?) -> Handle {
        // The force-unwrap is safe: libuv calls back with its own handles, and `init` has set their data.
        let base = raw!.assumingMemoryBound(to: uv_handle_t.self)
        return Unmanaged<Handle>.fromOpaque(base.pointee.data).takeUnretainedValue()
    }

    /// Stops the handle's events at once, and frees its memory when libuv has closed it. Further calls have no effect.
    func close() {
        guard isOpen else { return }
        isOpen = false
        onEvent = nil
        uv_close(base) { Handle.of($0).didClose() }
    }

    private var base: UnsafeMutablePointer<uv_handle_t> {
        raw(as: uv_handle_t.self)
    }

    private func didClose() {
        let closed = onClosed
        onClosed = nil
        registry.remove(at: memory)
        memory.deallocate()
        closed?()
    }
}

/// The open handles of a loop, so that they can be closed with it.
final class HandleRegistry {
    let loop: UnsafeMutablePointer<uv_loop_t>
    /// True if the loop is closing, so that no handle may be opened.
    private(set) var isSealed = false
    private var handles: [UnsafeMutableRawPointer: Handle] = [:]

    init(loop: UnsafeMutablePointer<uv_loop_t>) {
        self.loop = loop
    }

    /// The number of handles that libuv has not closed yet.
    var count: Int {
        handles.count
    }

    func add(_ handle: Handle, at memory: UnsafeMutableRawPointer) {
        handles[memory] = handle
    }

    func remove(at memory: UnsafeMutableRawPointer) {
        handles[memory] = nil
    }

    /// Closes all handles of the loop, runs their callbacks, and waits for work on libuv's threads.
    func closeAll() {
        isSealed = true
        // Repeat, since callbacks of libraries may open further handles that would keep the loop waiting.
        repeat {
            for handle in Array(handles.values) { handle.close() }
            uv_walk(loop, Self.closeForeign, nil)
        } while uv_run(loop, UV_RUN_ONCE) != 0
    }

    // The handle and its memory belong to a library: close it without freeing it.
    private static let closeForeign: uv_walk_cb = { handle, _ in
        guard uv_is_closing(handle) == 0 else { return }
        uv_close(handle, nil)
    }
}
