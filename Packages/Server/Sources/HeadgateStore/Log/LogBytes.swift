import HeadgateData

/// Lays numbers, bytes and texts one behind the other, little-endian (Behaviour Q11).
struct LogWriter {
    private(set) var bytes: [UInt8] = []

    mutating func put<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// So many bytes, all of which `body` writes.
    mutating func put(_ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        bytes.lay(most: count) { cursor in
            body(cursor.room)
            cursor.skip(count)
        }
    }

    /// So many bytes at most, of which `body` writes as many as it says.
    mutating func put(most count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
        bytes.lay(most: count) { cursor in cursor.skip(body(cursor.room)) }
    }

    /// Bytes behind their count.
    mutating func put(_ piece: some Collection<UInt8>) {
        put(UInt32(piece.count))
        bytes.append(contentsOf: piece)
    }

    mutating func put(_ text: String) {
        put(text.utf8)
    }

    /// Bytes of which the reader knows how many there are.
    mutating func putRest(_ piece: [UInt8]) {
        bytes.append(contentsOf: piece)
    }

    /// Elements behind their count.
    mutating func put<Element>(
        all elements: some Collection<Element>, _ body: (inout LogWriter, Element) -> Void
    ) {
        put(UInt32(elements.count))
        for element in elements { body(&self, element) }
    }

    mutating func putZeros(_ count: Int) {
        var left = count
        while left > 0 {
            bytes.append(contentsOf: LogWriter.zeros.prefix(left))
            left -= LogWriter.zeros.count
        }
    }

    /// To copy from, which is quicker than to lay them one by one.
    private static let zeros = [UInt8](repeating: 0, count: 64)

    /// Takes back all but some bytes; what they took in memory is used again.
    mutating func cut(to count: Int) {
        bytes.removeLast(bytes.count - count)
    }

    /// Changes what was laid.
    mutating func withBytes<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeMutableBytes(body)
    }

    /// A number that need not be there.
    mutating func put(optional number: Int64?) {
        put(UInt8(number == nil ? 0 : 1))
        if let number { put(number) }
    }
}

/// Takes apart what a ``LogWriter`` has laid. The bytes have a checksum: where they do not fit all the same, somebody else wrote
/// them, and they are not believed.
struct LogReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// The bytes are not what a writer lays.
    struct Unsound: Error {}

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var left: Int { bytes.count - offset }

    mutating func take<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type = Number.self
    ) throws(Unsound) -> Number {
        guard left >= MemoryLayout<Number>.size else { throw Unsound() }
        defer { offset += MemoryLayout<Number>.size }
        return LittleEndian.load(bytes, at: offset, as: type)
    }

    /// Bytes behind their count, where they lie.
    mutating func takePiece() throws(Unsound) -> UnsafeRawBufferPointer {
        let count = Int(try take(UInt32.self))
        guard left >= count else { throw Unsound() }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    mutating func takeBytes() throws(Unsound) -> [UInt8] { Array(try takePiece()) }

    mutating func takeText() throws(Unsound) -> String { String(decoding: try takePiece(), as: UTF8.self) }

    /// All that is left.
    mutating func takeRest() -> UnsafeRawBufferPointer {
        defer { offset = bytes.count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset...])
    }

    /// Elements behind their count.
    mutating func takeAll<Element>(
        _ body: (inout LogReader) throws(Unsound) -> Element
    ) throws(Unsound) -> [Element] {
        let count = Int(try take(UInt32.self))
        // Each takes a byte at least: a count that is a lie takes no memory.
        guard count <= left else { throw Unsound() }
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count { elements.append(try body(&self)) }
        return elements
    }

    /// Numbers behind their count.
    mutating func takeNumbers<Number: FixedWidthInteger & BitwiseCopyable>() throws(Unsound) -> [Number] {
        try takeAll { (reader) throws(Unsound) in try reader.take() }
    }

    /// How many bytes something takes, or where in a file it lies.
    mutating func takeSize() throws(Unsound) -> Int {
        let size = try take(UInt64.self)
        guard size < 1 << 40 else { throw Unsound() }
        return Int(size)
    }

    /// A number of an event or of a dead letter: none comes to more, and to count on from one that does would leave what numbers can say.
    mutating func takeSequenceNumber() throws(Unsound) -> Int64 {
        let number = try take(Int64.self)
        guard 0...LogFormat.mostEvents ~= number else { throw Unsound() }
        return number
    }

    mutating func takeOptional() throws(Unsound) -> Int64? {
        try take(UInt8.self) == 0 ? nil : try take(Int64.self)
    }
}

extension [UInt8] {
    /// Lends the bytes; what the body throws keeps its type.
    func lend<Result, Fault>(_ body: (UnsafeRawBufferPointer) throws(Fault) -> Result) throws(Fault) -> Result {
        try withUnsafeBufferPointer { (bytes) throws(Fault) in try body(UnsafeRawBufferPointer(bytes)) }
    }
}

extension ArraySlice<UInt8> {
    /// Lends the bytes; what the body throws keeps its type.
    func lend<Result, Fault>(_ body: (UnsafeRawBufferPointer) throws(Fault) -> Result) throws(Fault) -> Result {
        try withUnsafeBufferPointer { (bytes) throws(Fault) in try body(UnsafeRawBufferPointer(bytes)) }
    }
}
