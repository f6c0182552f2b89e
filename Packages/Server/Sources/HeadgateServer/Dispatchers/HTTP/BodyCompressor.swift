import HeadgateTransport

/// How a body is compressed, by the name that HTTP has for it.
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

/// What a request sends of a batch.
struct EncodedBody: Sendable {
    var bytes: [UInt8]
    /// How the bytes are compressed; nil: as they are.
    var coding: ContentCoding?

    /// A body as it is.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A body that is compressed if that can be done.
    init(_ bytes: [UInt8], by coding: ContentCoding) {
        let compressed = coding.compressed(bytes)
        self.bytes = compressed ?? bytes
        self.coding = compressed == nil ? nil : coding
    }
}

/// Compresses a dispatcher's bodies on a thread of its own, in their order. It takes longer than all else that is done for an event: neither the
/// loop nor another dispatcher waits for it.
// Unchecked: it crosses to the thread as a reference only. Its state is touched on the loop alone.
final class BodyCompressor: @unchecked Sendable {
    /// Compresses one body. Called on the thread.
    typealias Encoder = @Sendable ([UInt8], ContentCoding) -> EncodedBody

    private let coding: ContentCoding
    private let loop: EventLoop
    private let thread: EventLoop
    private let encoder: Encoder
    /// Those whose bodies the thread has, in their order.
    private var waiting: [(EncodedBody) -> Void] = []
    private var isClosed = false

    init(_ coding: ContentCoding, loop: EventLoop, encoder: @escaping Encoder) throws(TransportError) {
        (self.coding, self.loop, self.encoder) = (coding, loop, encoder)
        thread = try EventLoop.onNewThread(named: "headgate-compress")
    }

    deinit {
        close()
    }

    /// Compresses a body; `then` is called on the loop, later.
    func compress(_ body: [UInt8], then: @escaping (EncodedBody) -> Void) {
        waiting.append(then)
        thread.submit { [self, coding, encoder] in
            let encoded = encoder(body, coding)
            loop.submit { [self] in didCompress(encoded) }
        }
    }

    /// Does not wait for the thread. Nobody is told anything any more.
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
