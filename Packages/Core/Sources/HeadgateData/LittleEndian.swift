/// Functions that read and write integers as little-endian bytes, on any machine. All files of the store have this byte
/// order (Behaviour Q11).
public enum LittleEndian {
    public static func bytes<Integer: FixedWidthInteger>(_ value: Integer) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    /// Reads the integer at `offset`. All its bytes must be within `bytes`.
    @inlinable
    public static func load<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, as type: Integer.Type
    ) -> Integer {
        Integer(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Writes an integer at `offset`. All its bytes must fit into `bytes`.
    @inlinable
    public static func store<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ value: Integer, in bytes: UnsafeMutableRawBufferPointer, at offset: Int
    ) {
        bytes.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Integer.self)
    }
}
