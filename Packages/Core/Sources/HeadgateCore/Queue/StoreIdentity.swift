import HeadgateData

/// The store's own id: random, made with the store and kept in it. Deduplication keys begin with it, so that no other
/// store ever gives a destination the same key (Behaviour K8).
struct StoreIdentity: Equatable {
    /// 16 random bytes.
    let kept: [UInt8]

    /// The name under which the store keeps the id.
    static let name = "store_id"

    /// Makes a new id.
    init() {
        var random = SystemRandomNumberGenerator()
        kept = LittleEndian.bytes(random.next() as UInt64) + LittleEndian.bytes(random.next() as UInt64)
    }

    /// Takes an id that the store has kept, or returns nil if the bytes are not one.
    init?(kept bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        kept = bytes
    }

    /// The beginning of the keys of one dispatcher: the id in hexadecimal digits, and the dispatcher's number.
    func origin(of dispatcher: DispatcherNumber) -> String {
        let digits = kept.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return digits.joined() + "-\(dispatcher)"
    }
}
