import HeadgateTransport

/// A compression of bodies, by its name in HTTP.
enum ContentCoding: String {
    case gzip
    case zstd

    func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        switch self {
        case .gzip: Gzip.compressed(bytes)
        case .zstd: Zstandard.compressed(bytes)
        }
    }
}

/// The body of a request.
struct EncodedBody: Sendable {
    var bytes: [UInt8]
    /// The compression of the bytes, or nil for none.
    var coding: ContentCoding?

    /// Makes a body that is not compressed.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Makes a compressed body. If the compression fails, the body is not compressed.
    init(_ bytes: [UInt8], by coding: ContentCoding) {
        let compressed = coding.compressed(bytes)
        self.bytes = compressed ?? bytes
        self.coding = compressed == nil ? nil : coding
    }
}

/// Compresses a dispatcher's bodies on a thread of its own, in order. Compression takes longer than all other work for
/// an event, and on a thread it delays neither the loop nor other dispatchers.
// Unchecked: the thread only passes the reference on. The loop alone uses the state.
final class BodyCompressor: @unchecked Sendable {
    /// Compresses one body, on the thread.
    typealias Encoder = @Sendable ([UInt8], ContentCoding) -> EncodedBody

    private let coding: ContentCoding
    private let loop: EventLoop
    private let thread: EventLoop
    private let encoder: Encoder
    /// The callbacks of the bodies that the thread has, in order.
    private var waiting: [(EncodedBody) -> Void] = []
    private var isClosed = false

    init(_ coding: ContentCoding, loop: EventLoop, encoder: @escaping Encoder) throws(TransportError) {
        (self.coding, self.loop, self.encoder) = (coding, loop, encoder)
        thread = try EventLoop.onNewThread(named: "headgate-compress")
    }

    deinit {
        close()
    }

    /// Compresses a body. Calls `then` on the loop, after this method returns.
    func compress(_ body: [UInt8], then: @escaping (EncodedBody) -> Void) {
        waiting.append(then)
        thread.submit { [self, coding, encoder] in
            let encoded = encoder(body, coding)
            loop.submit { [self] in didCompress(encoded) }
        }
    }

    /// Stops the thread without waiting. No callback is called after this.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        waiting = []
        thread.stop()
    }

    private func didCompress(_ body: EncodedBody) {
        guard !isClosed else { return }
        waiting.removeFirst()(body)
    }
}
