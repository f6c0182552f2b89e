import CUV
import Glibc

/// Bytes as a file that is nowhere on disk, for a program to read as its standard input. However many they are, neither
/// side ever waits for the other, and a program that does not read them disturbs nobody.
public struct MemoryFile: ~Copyable {
    let descriptor: Descriptor

    /// A file with these bytes, to be read from their beginning.
    public init(_ bytes: [UInt8]) throws(TransportError) {
        descriptor = try Self.file(of: bytes)
    }

    private static func file(of bytes: [UInt8]) throws(TransportError) -> Descriptor {
        let number = cuv_memory_file("headgate-input")
        guard number >= 0 else { throw .last("memfd_create") }
        let file = Descriptor(number)
        try write(bytes, to: number)
        guard lseek(number, 0, SEEK_SET) == 0 else { throw .last("lseek") }
        return file
    }

    private static func write(_ bytes: [UInt8], to file: Int32) throws(TransportError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return Glibc.write(file, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .last("write") }
            written += count
        }
    }
}
