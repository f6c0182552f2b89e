import HeadgateData

/// The secret key for hashing ids, so that a client cannot construct an id that collides with another's (Behaviour Q7).
///
/// The key is generated once for a store and saved in it. Only the hash of an id is remembered, and a hash under
/// another key could not be compared after a restart.
struct DedupeKey: Equatable {
    private var first: UInt64
    private var second: UInt64

    /// The name under which the store keeps the key.
    static let name = "dedupe_key"

    /// Generates a random key.
    init() {
        var random = SystemRandomNumberGenerator()
        first = random.next()
        second = random.next()
    }

    /// Reads a saved key; nil if the bytes are not a key.
    init?(kept bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        (first, second) = bytes.withUnsafeBytes {
            (LittleEndian.load($0, at: 0, as: UInt64.self), LittleEndian.load($0, at: 8, as: UInt64.self))
        }
    }

    /// The bytes that the store saves.
    var kept: [UInt8] { LittleEndian.bytes(first) + LittleEndian.bytes(second) }

    /// Returns the fingerprint of a namespace and an id.
    func fingerprint(_ identity: TrackedEvent.Identity) -> DedupeWindow.Fingerprint {
        let (namespace, id) = (identity.namespace, identity.id)
        return withUnsafeTemporaryAllocation(byteCount: 8 + namespace.count + id.count, alignment: 8) { buffer in
            // The length prefix distinguishes pairs that differ only in the border between namespace and id.
            LittleEndian.store(UInt64(namespace.count), in: buffer, at: 0)
            UnsafeMutableRawBufferPointer(rebasing: buffer[8...]).copyMemory(from: namespace)
            UnsafeMutableRawBufferPointer(rebasing: buffer[(8 + namespace.count)...]).copyMemory(from: id)
            return fingerprint(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Returns the fingerprint of a namespace and an id given as strings.
    func fingerprint(of id: String, in namespace: String) -> DedupeWindow.Fingerprint {
        Array(namespace.utf8).withUnsafeBytes { namespace in
            Array(id.utf8).withUnsafeBytes { fingerprint(TrackedEvent.Identity(namespace: namespace, id: $0)) }
        }
    }

    private func fingerprint(_ bytes: UnsafeRawBufferPointer) -> DedupeWindow.Fingerprint {
        let (first, second) = SipHash.hash(bytes, key: (first, second))
        return DedupeWindow.Fingerprint(first: first, second: second)
    }
}

/// SipHash-2-4 with a 128-bit result (Aumasson and Bernstein). Without the key the result cannot be distinguished from
/// random bits.
struct SipHash {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    /// Returns the two halves of the hash.
    static func hash(_ bytes: UnsafeRawBufferPointer, key: (UInt64, UInt64)) -> (UInt64, UInt64) {
        var state = SipHash(key)
        let whole = bytes.count & ~7
        for offset in stride(from: 0, to: whole, by: 8) {
            state.mix(LittleEndian.load(bytes, at: offset, as: UInt64.self))
        }
        var last = UInt64(bytes.count & 0xff) << 56
        for offset in whole..<bytes.count { last |= UInt64(bytes[offset]) << UInt64(8 * (offset - whole)) }
        state.mix(last)
        return state.finish()
    }

    private init(_ key: (UInt64, UInt64)) {
        v0 = 0x736f_6d65_7073_6575 ^ key.0
        v1 = 0x646f_7261_6e64_6f6d ^ key.1 ^ 0xee
        v2 = 0x6c79_6765_6e65_7261 ^ key.0
        v3 = 0x7465_6462_7974_6573 ^ key.1
    }

    private mutating func mix(_ word: UInt64) {
        v3 ^= word
        rounds(2)
        v0 ^= word
    }

    private mutating func finish() -> (UInt64, UInt64) {
        v2 ^= 0xee
        rounds(4)
        let first = v0 ^ v1 ^ v2 ^ v3
        v1 ^= 0xdd
        rounds(4)
        return (first, v0 ^ v1 ^ v2 ^ v3)
    }

    private mutating func rounds(_ count: Int) {
        for _ in 0..<count {
            v0 &+= v1
            v1 = v1 << 13 | v1 >> 51
            v1 ^= v0
            v0 = v0 << 32 | v0 >> 32
            v2 &+= v3
            v3 = v3 << 16 | v3 >> 48
            v3 ^= v2
            v0 &+= v3
            v3 = v3 << 21 | v3 >> 43
            v3 ^= v0
            v2 &+= v1
            v1 = v1 << 17 | v1 >> 47
            v1 ^= v2
            v2 = v2 << 32 | v2 >> 32
        }
    }
}

/// A writer that encodes the remembered ids of a group for the store. Each id takes 32 bytes, whatever its length: the
/// event's sequence number, its time of receipt, and the two halves of the fingerprint, 8 bytes each, little-endian
/// (Behaviour Q7).
struct RecentIDsWriter {
    private var bytes: [UInt8] = []
    private var count = 0
    private var receivedStamp: Int64 = 0

    mutating func append(
        _ fingerprint: DedupeWindow.Fingerprint, sequenceNumber: SequenceNumber, receivedStamp stamp: Int64
    ) {
        bytes.append(most: RecentIDs.entrySize) { cursor in
            LittleEndian.store(sequenceNumber, in: cursor.room, at: 0)
            LittleEndian.store(stamp, in: cursor.room, at: 8)
            LittleEndian.store(fingerprint.first, in: cursor.room, at: 16)
            LittleEndian.store(fingerprint.second, in: cursor.room, at: 24)
            cursor.skip(RecentIDs.entrySize)
        }
        receivedStamp = stamp
        count += 1
    }

    /// Returns the ids written so far, or nil if there are none, and begins again.
    mutating func take(lastSequenceNumber: SequenceNumber) -> RecentIDs? {
        defer { self = RecentIDsWriter() }
        guard count > 0 else { return nil }
        return RecentIDs(
            lastSequenceNumber: lastSequenceNumber, receivedStamp: receivedStamp, count: count, bytes: bytes)
    }
}

extension RecentIDs {
    /// The size of an id's entry in bytes.
    fileprivate static let entrySize = 32

    /// Calls `body` for each id. Stops at malformed bytes.
    func visit(_ key: DedupeKey, _ body: (DedupeWindow.Fingerprint, SequenceNumber, Int64) -> Void) {
        switch form {
        case .fingerprints: visitFingerprints(body)
        case .plain: visitPlain { body(key.fingerprint($0), $1, receivedStamp) }
        }
    }

    private func visitFingerprints(_ body: (DedupeWindow.Fingerprint, SequenceNumber, Int64) -> Void) {
        bytes.withUnsafeBytes { bytes in
            for offset in stride(from: 0, through: bytes.count - RecentIDs.entrySize, by: RecentIDs.entrySize) {
                let fingerprint = DedupeWindow.Fingerprint(
                    first: LittleEndian.load(bytes, at: offset + 16, as: UInt64.self),
                    second: LittleEndian.load(bytes, at: offset + 24, as: UInt64.self))
                body(
                    fingerprint, LittleEndian.load(bytes, at: offset, as: Int64.self),
                    LittleEndian.load(bytes, at: offset + 8, as: Int64.self))
            }
        }
    }

    /// Reads the plain form: for each id the event's sequence number (8 bytes), the lengths of namespace and id (4
    /// bytes each), then both texts.
    private func visitPlain(_ body: (TrackedEvent.Identity, SequenceNumber) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset + 16 <= bytes.count {
                let number = LittleEndian.load(bytes, at: offset, as: SequenceNumber.self)
                let namespace = Int(LittleEndian.load(bytes, at: offset + 8, as: UInt32.self))
                let id = Int(LittleEndian.load(bytes, at: offset + 12, as: UInt32.self))
                let start = offset + 16
                guard start + namespace + id <= bytes.count else { return }
                let name = UnsafeRawBufferPointer(rebasing: bytes[start..<start + namespace])
                let idBytes = UnsafeRawBufferPointer(rebasing: bytes[start + namespace..<start + namespace + id])
                body(TrackedEvent.Identity(namespace: name, id: idBytes), number)
                offset = start + namespace + id
            }
        }
    }
}
