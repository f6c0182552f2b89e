import HeadgateData

/// The store's own id: random, created with the store and kept in it. Deduplication keys begin with it, so that no two
/// stores send the same key to a destination (Behaviour K8).
struct StoreIdentity: Equatable {
    /// 16 random bytes.
    let kept: [UInt8]

    /// The name under which the store keeps the id.
    static let name = "store_id"

    /// Generates a new id.
    init() {
        var random = SystemRandomNumberGenerator()
        kept = LittleEndian.bytes(random.next() as UInt64) + LittleEndian.bytes(random.next() as UInt64)
    }

    /// Reads a saved id; nil if the bytes are not an id.
    init?(kept bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        kept = bytes
    }

    /// Returns the prefix of one dispatcher's keys: the id in hexadecimal digits, the dispatcher's number, and the
    /// number of its last rewind if there was one.
    func origin(of dispatcher: DispatcherNumber, _ replay: Replay? = nil) -> String {
        let digits = kept.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return digits.joined() + "-\(dispatcher)" + (replay.map { "r\($0.number)" } ?? "")
    }
}
