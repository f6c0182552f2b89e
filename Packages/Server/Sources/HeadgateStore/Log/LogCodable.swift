/// A value in the files of the log, always in the same form (Behaviour Q11). `Docs/Log.md` describes the forms.
protocol LogCodable {
    func write(to writer: inout LogWriter)
    /// - Throws: an error if the bytes are not of a value.
    init(from reader: inout LogReader) throws(LogReader.Unsound)
}

extension LogCodable where Self: FixedWidthInteger & BitwiseCopyable {
    func write(to writer: inout LogWriter) { writer.putNumber(self) }

    init(from reader: inout LogReader) throws(LogReader.Unsound) { self = try reader.takeNumber() }
}

extension UInt8: LogCodable {}
extension UInt32: LogCodable {}
extension UInt64: LogCodable {}
extension Int32: LogCodable {}
extension Int64: LogCodable {}

/// A number of bytes or dead letters, or an offset in a file.
extension Int: LogCodable {
    func write(to writer: inout LogWriter) { writer.put(UInt64(self)) }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        let number: UInt64 = try reader.take()
        guard number < 1 << 40 else { throw LogReader.Unsound() }
        self.init(number)
    }
}

/// The number of bytes, and the bytes.
extension String: LogCodable {
    func write(to writer: inout LogWriter) { writer.put(Array(utf8)) }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        self.init(decoding: try reader.takePiece(), as: UTF8.self)
    }
}

/// The number of elements, and the elements.
extension Array: LogCodable where Element: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(UInt32(count))
        for element in self { element.write(to: &writer) }
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        let count: UInt32 = try reader.take()
        // Each element takes a byte at least, so that a wrong count takes no memory.
        guard count <= reader.left else { throw LogReader.Unsound() }
        self.init()
        reserveCapacity(Int(count))
        for _ in 0..<count { append(try Element(from: &reader)) }
    }
}

/// The number of keys, and each key with its value, in the order of the keys.
extension Dictionary: LogCodable where Key: LogCodable & Comparable, Value: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(UInt32(count))
        for (key, value) in sorted(by: { $0.key < $1.key }) {
            key.write(to: &writer)
            value.write(to: &writer)
        }
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        let count: UInt32 = try reader.take()
        guard count <= reader.left else { throw LogReader.Unsound() }
        self.init()
        for _ in 0..<count { self[try Key(from: &reader)] = try Value(from: &reader) }
    }
}
