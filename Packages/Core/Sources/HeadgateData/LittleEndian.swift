/// Integers as bytes, lowest first, whatever the machine: how all that is kept on disk is laid (Behaviour Q11).
public enum LittleEndian {
    public static func bytes<Integer: FixedWidthInteger>(_ value: Integer) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    /// Reads the integer that begins at `offset`; all its bytes must be there.
    @inlinable
    public static func load<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, as type: Integer.Type
    ) -> Integer {
        Integer(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Writes an integer to `offset`; there must be room for all its bytes.
    @inlinable
    public static func store<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ value: Integer, in bytes: UnsafeMutableRawBufferPointer, at offset: Int
    ) {
        bytes.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Integer.self)
    }
}
