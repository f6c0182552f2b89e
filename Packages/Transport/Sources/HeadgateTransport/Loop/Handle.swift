import CUV

/// One handle of libuv in memory of its own, which is given back only when libuv has let go of it.
///
/// The registry keeps it until then, so whoever made it may be gone earlier.
final class Handle {
    /// Called on libuv's event with what it tells: status and events of a poll, the number of a signal, else zeros.
    @exclusivity(unchecked) var onEvent: ((Int32, Int32) -> Void)?
    /// Called once, after libuv has let go of the handle.
    var onClosed: (() -> Void)?
    /// False from the moment that it is asked to close.
    @exclusivity(unchecked) private(set) var isOpen = true

    private let memory: UnsafeMutableRawPointer
    // The registry lives as long as the loop, and an open handle is one of its own.
    private unowned let registry: HandleRegistry

    /// Makes a handle with libuv's function for its kind.
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
        // Not retained: the registry holds it for as long as libuv may come back with this pointer.
        base.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        registry.add(self, at: memory)
    }

    /// The handle in libuv's type for its kind, which the maker knows.
    func raw<Raw>(as: Raw.Type = Raw.self) -> UnsafeMutablePointer<Raw> {
        memory.assumingMemoryBound(to: Raw.self)
    }

    /// The object behind a handle that libuv hands to a callback.
    static func of(_ raw: UnsafeMutableRawPointer?) -> Handle {
        // libuv calls back with handles that were given to it, and `init` has filled in their data.
        let base = raw!.assumingMemoryBound(to: uv_handle_t.self)
        return Unmanaged<Handle>.fromOpaque(base.pointee.data).takeUnretainedValue()
    }

    /// Ends its events at once; its memory goes when libuv says so. Closing twice is no error.
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

/// The handles that are open on one loop, so that all can be closed with it.
final class HandleRegistry {
    let loop: UnsafeMutablePointer<uv_loop_t>
    /// Whether the loop is closing, so that nothing new may be opened on it.
    private(set) var isSealed = false
    private var handles: [UnsafeMutableRawPointer: Handle] = [:]

    init(loop: UnsafeMutablePointer<uv_loop_t>) {
        self.loop = loop
    }

    /// How many handles libuv has not let go of.
    var count: Int {
        handles.count
    }

    func add(_ handle: Handle, at memory: UnsafeMutableRawPointer) {
        handles[memory] = handle
    }

    func remove(at memory: UnsafeMutableRawPointer) {
        handles[memory] = nil
    }

    /// Closes all handles of the loop, lets their callbacks run, and waits for work that libuv's threads still do.
    func closeAll() {
        isSealed = true
        // In rounds, since somebody else's callbacks may still open handles that would keep the loop waiting.
        repeat {
            for handle in Array(handles.values) { handle.close() }
            uv_walk(loop, Self.closeForeign, nil)
        } while uv_run(loop, UV_RUN_ONCE) != 0
    }

    // Somebody else's handle, and so somebody else's memory: closed, not freed.
    private static let closeForeign: uv_walk_cb = { handle, _ in
        guard uv_is_closing(handle) == 0 else { return }
        uv_close(handle, nil)
    }
}
