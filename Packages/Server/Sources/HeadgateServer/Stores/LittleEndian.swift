/// Integers as bytes, lowest first, whatever the machine.
enum LittleEndian {
    static func bytes<Integer: FixedWidthInteger>(_ value: Integer) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    static func load<Integer: FixedWidthInteger>(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, as type: Integer.Type
    ) -> Integer {
        Integer(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
    }
}
