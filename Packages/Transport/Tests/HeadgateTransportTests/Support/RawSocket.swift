import Glibc
import Testing

/// The other end of a connection, used outside the loop with non-blocking system calls.
final class RawSocket {
    private(set) var number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close()
    }

    /// Creates a connected pair: one end for the loop, one for the test.
    static func pair() throws -> (forLoop: Int32, raw: RawSocket) {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return (ends[0], RawSocket(ends[1]))
    }

    func send(_ text: String, flags: Int = 0) {
        let bytes = Array(text.utf8)
        #expect(Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT | flags)) == bytes.count)
    }

    /// Returns the bytes of one read, or nil at the end of the stream or if nothing is available.
    func read(_ size: Int = 1 << 20) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: size)
        let count = recv(number, &bytes, size, Int32(MSG_DONTWAIT))
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    func finishWriting() {
        shutdown(number, Int32(SHUT_WR))
    }

    func close() {
        guard number >= 0 else { return }
        Glibc.close(number)
        number = -1
    }
}
