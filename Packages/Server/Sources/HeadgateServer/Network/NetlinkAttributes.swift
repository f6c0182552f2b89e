import CNetlink

/// The attributes of a netlink message, by their types.
struct NetlinkAttributes {
    private var values: [Int: [UInt8]] = [:]

    /// - Parameter start: where the attributes begin in the message's body.
    init(_ body: UnsafeRawBufferPointer, after start: Int) {
        var rest = body.dropFirst(start.alignedToFour)
        while rest.count >= MemoryLayout<rtattr>.size {
            let header = rest.load(rtattr.self)
            let length = Int(header.rta_len)
            guard length >= MemoryLayout<rtattr>.size, length <= rest.count else { return }
            // The two upper bits tell how the value is written, not what it is.
            let type = Int(header.rta_type) & 0x3fff
            values[type] = Array(rest.prefix(length).dropFirst(MemoryLayout<rtattr>.size))
            rest = rest.dropFirst(length.alignedToFour)
        }
    }

    func bytes(_ type: Int) -> [UInt8]? {
        values[type]
    }

    func text(_ type: Int) -> String? {
        values[type].map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    func number(_ type: Int) -> UInt32? {
        guard let bytes = values[type], bytes.count >= 4 else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
    }
}

extension Int {
    /// The next multiple of four, on which netlink begins whatever follows.
    var alignedToFour: Int { (self + 3) & ~3 }
}

extension Slice<UnsafeRawBufferPointer> {
    /// A structure of the kernel's at the beginning; the caller has looked whether it fits.
    func load<Value: BitwiseCopyable>(_ type: Value.Type) -> Value {
        UnsafeRawBufferPointer(rebasing: self).loadUnaligned(as: type)
    }
}
