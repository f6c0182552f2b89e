import CUV
import Glibc

/// A thread of the transport. It ends when its body returns; no other thread joins it.
enum LoopThread {
    /// Starts a thread that runs `body`. A name of more than 15 bytes is truncated.
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(TransportError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // Retained for the new thread, which releases it. It is released here only if the thread could not be started.
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let code = pthread_create(&thread, &attributes, main, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw .system(operation: "pthread_create", code: -code)
        }
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        // The force-unwrap is safe: `start` passes the context, retained.
        let start = Unmanaged<Start>.fromOpaque(context!).takeRetainedValue()
        cuv_name_thread(start.name)
        start.body()
        return nil
    }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
