/// Bytes on their way out: appended behind, sent from the front.
struct OutputBuffer {
    /// All bytes, of which the first `sent` are gone. Others may append, nothing else.
    var bytes: [UInt8] = []
    private var sent = 0

    /// How many are unsent.
    var count: Int {
        bytes.count - sent
    }

    var isEmpty: Bool {
        count == 0
    }

    /// Shows the first unsent bytes, at most so many.
    func withUnsent<Result>(atMost limit: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { all in
            body(UnsafeRawBufferPointer(rebasing: all[sent..<min(all.count, sent + limit)]))
        }
    }

    /// Takes note that `count` more bytes were sent.
    mutating func advance(by count: Int) {
        sent += count
        // Moving only when most is sent keeps the cost of a byte constant.
        guard sent >= Self.worthMoving, sent > bytes.count / 2 else { return }
        bytes.removeSubrange(..<sent)
        sent = 0
    }

    /// Forgets all, and gives the memory away.
    mutating func release() -> [UInt8] {
        var released: [UInt8] = []
        swap(&released, &bytes)
        sent = 0
        return released
    }

    private static let worthMoving = 256 * 1024
}
