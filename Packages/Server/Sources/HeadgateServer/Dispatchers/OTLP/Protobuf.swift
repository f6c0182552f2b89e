/// A writer of one protobuf message. OTLP's request for logs needs one message in four wire types, so it needs neither
/// a protobuf compiler nor a library with generated code.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    private enum WireType: UInt64 {
        case varint = 0
        case fixed64 = 1
        case bytes = 2
    }

    mutating func varint(_ field: UInt64, _ value: UInt64) {
        tag(field, .varint)
        append(value)
    }

    mutating func fixed64(_ field: UInt64, _ value: UInt64) {
        tag(field, .fixed64)
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func bytes(_ field: UInt64, _ value: some Collection<UInt8>) {
        tag(field, .bytes)
        append(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    mutating func string(_ field: UInt64, _ value: String) {
        bytes(field, value.utf8)
    }

    mutating func message(_ field: UInt64, _ body: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        body(&inner)
        bytes(field, inner.bytes)
    }

    private mutating func tag(_ field: UInt64, _ type: WireType) {
        append(field << 3 | type.rawValue)
    }

    /// Appends a number as a varint: in groups of seven bits, the lowest first.
    private mutating func append(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

/// A reader of single fields of a protobuf message. If a field repeats, the last value counts.
struct ProtobufReader {
    private var numbers: [UInt64: UInt64] = [:]
    private var texts: [UInt64: [UInt8]] = [:]

    /// Reads a message up to its end, or up to the first malformed field.
    init(_ message: [UInt8]) {
        var rest = message[...]
        while let tag = rest.varint(), read(tag >> 3, type: tag & 7, &rest) {}
    }

    /// Returns the value of a numeric field, or nil if it is absent.
    func number(of field: UInt64) -> UInt64? { numbers[field] }

    /// Returns the value of a string, of bytes, or of a message, or nil if it is absent.
    func bytes(of field: UInt64) -> [UInt8]? { texts[field] }

    /// Reads the value of a field. Returns false if the value is malformed or incomplete.
    private mutating func read(_ field: UInt64, type: UInt64, _ rest: inout ArraySlice<UInt8>) -> Bool {
        switch type {
        case 0:
            guard let value = rest.varint() else { return false }
            numbers[field] = value
        case 1: return rest.take(8) != nil
        case 2:
            guard let count = rest.varint(), let value = rest.take(count) else { return false }
            texts[field] = Array(value)
        case 5: return rest.take(4) != nil
        default: return false
        }
        return true
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = popFirst() else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }

    fileprivate mutating func take(_ count: UInt64) -> ArraySlice<UInt8>? {
        guard count <= UInt64(self.count) else { return nil }
        defer { removeFirst(Int(count)) }
        return prefix(Int(count))
    }
}
