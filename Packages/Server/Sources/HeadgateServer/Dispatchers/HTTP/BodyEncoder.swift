import HeadgateTransport

/// A compression of bodies. The raw value is its name in `Content-Encoding`.
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

    /// Makes a body, compressed if a coding is given. If the compression fails, the body is not compressed.
    init(_ bytes: [UInt8], by coding: ContentCoding? = nil) {
        let compressed = coding?.compressed(bytes)
        self.bytes = compressed ?? bytes
        self.coding = compressed == nil ? nil : coding
    }
}

/// An encoder that converts and compresses a dispatcher's bodies on its own thread, in order. This work takes longer
/// than all other work for an event. On its own thread it delays neither the loop nor other dispatchers.
// Unchecked: the thread only passes the reference on. The loop alone uses the state.
final class BodyEncoder: @unchecked Sendable {
    /// Converts a batch's body into the body to send. Called on the encoder's thread.
    typealias Encoder = @Sendable ([UInt8]) -> EncodedBody

    private let loop: EventLoop
    private let thread: EventLoop
    private let encoder: Encoder
    /// The callbacks for the bodies that the thread is encoding, in order.
    private var waiting: [(EncodedBody) -> Void] = []
    private var isClosed = false

    init(loop: EventLoop, encoder: @escaping Encoder) throws(TransportError) {
        (self.loop, self.encoder) = (loop, encoder)
        thread = try EventLoop.onNewThread(named: "headgate-encode")
    }

    deinit {
        close()
    }

    /// Encodes a body. Calls `then` on the loop, after this method returns.
    func encode(_ body: [UInt8], then: @escaping (EncodedBody) -> Void) {
        waiting.append(then)
        thread.submit { [self, encoder] in
            let encoded = encoder(body)
            loop.submit { [self] in didEncode(encoded) }
        }
    }

    /// Stops the thread without waiting. No callback is called after this.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        waiting = []
        thread.stop()
    }

    private func didEncode(_ body: EncodedBody) {
        guard !isClosed else { return }
        waiting.removeFirst()(body)
    }
}
