import HeadgateData

/// Encodes numbers, bytes and texts one after the other, little-endian (Behaviour Q11).
struct LogWriter {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ value: some LogCodable) { value.write(to: &self) }

    /// Adds a number, which takes as many bytes as its type has.
    mutating func putNumber(_ number: some FixedWidthInteger & BitwiseCopyable) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Adds `count` bytes, all of which `body` writes.
    mutating func put(_ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        bytes.append(most: count) { cursor in
            body(cursor.room)
            cursor.skip(count)
        }
    }

    /// Adds at most `count` bytes: `body` returns the number that it has written.
    mutating func put(most count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
        bytes.append(most: count) { cursor in cursor.skip(body(cursor.room)) }
    }

    /// Adds the number of bytes, and the bytes.
    mutating func put(_ piece: [UInt8]) {
        put(UInt32(piece.count))
        bytes.append(contentsOf: piece)
    }

    /// Adds bytes whose number the reader knows.
    mutating func putRest(_ piece: [UInt8]) {
        bytes.append(contentsOf: piece)
    }

    mutating func putZeros(_ count: Int) {
        var left = count
        while left > 0 {
            bytes.append(contentsOf: LogWriter.zeros.prefix(left))
            left -= LogWriter.zeros.count
        }
    }

    private static let zeros = [UInt8](repeating: 0, count: 64)

    /// Drops all bytes after the first `count`. Their memory is used again.
    mutating func cut(to count: Int) {
        bytes.removeLast(bytes.count - count)
    }

    /// Changes encoded bytes.
    mutating func withBytes<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeMutableBytes(body)
    }

    /// Adds a value that may be missing, as an array.
    mutating func put(ifAny value: (some LogCodable)?) { put(value.map { [$0] } ?? []) }

    /// Adds a number that may be missing.
    mutating func put(optional number: Int64?) {
        put(UInt8(number == nil ? 0 : 1))
        if let number { put(number) }
    }
}

/// Decodes the bytes of a ``LogWriter``, whose checksum is right. Bytes that it cannot decode come from another program
/// and are not used.
struct LogReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// The error for bytes that no ``LogWriter`` has encoded.
    struct Unsound: Error {}

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Returns the value that some bytes begin with.
    static func value<Value: LogCodable>(in bytes: UnsafeRawBufferPointer) throws(Unsound) -> Value {
        var reader = LogReader(bytes)
        return try reader.take()
    }

    var left: Int { bytes.count - offset }

    mutating func take<Value: LogCodable>(_ type: Value.Type = Value.self) throws(Unsound) -> Value {
        try Value(from: &self)
    }

    /// Takes a number, which takes as many bytes as its type has.
    mutating func takeNumber<Number: FixedWidthInteger & BitwiseCopyable>() throws(Unsound) -> Number {
        guard left >= MemoryLayout<Number>.size else { throw Unsound() }
        defer { offset += MemoryLayout<Number>.size }
        return LittleEndian.load(bytes, at: offset, as: Number.self)
    }

    /// Takes bytes that follow their count, without a copy.
    mutating func takePiece() throws(Unsound) -> UnsafeRawBufferPointer {
        let count = Int(try take(UInt32.self))
        guard left >= count else { throw Unsound() }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    mutating func takeBytes() throws(Unsound) -> [UInt8] { Array(try takePiece()) }

    /// Takes the number of an event or a dead letter. It has a limit, so that counting on from it cannot overflow.
    mutating func takeSequenceNumber() throws(Unsound) -> Int64 {
        let number = try take(Int64.self)
        guard 0...LogFormat.mostEvents ~= number else { throw Unsound() }
        return number
    }

    /// Takes a value that may be missing, from an array.
    mutating func takeIfAny<Value: LogCodable>() throws(Unsound) -> Value? { try take([Value].self).first }

    /// Takes a number that may be missing.
    mutating func takeOptional() throws(Unsound) -> Int64? {
        try take(UInt8.self) == 0 ? nil : try take()
    }
}

extension [UInt8] {
    /// Lends the bytes. An error of the body keeps its type.
    func withRawBytes<Result, Fault>(_ body: (UnsafeRawBufferPointer) throws(Fault) -> Result) throws(Fault) -> Result {
        try withUnsafeBufferPointer { (bytes) throws(Fault) in try body(UnsafeRawBufferPointer(bytes)) }
    }
}
