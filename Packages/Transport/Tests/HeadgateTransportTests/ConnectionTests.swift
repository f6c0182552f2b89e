import Glibc
import Testing

@testable import HeadgateTransport

@Suite struct ConnectionTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Listens at `path` and echoes on each connection what it receives.
    private func echo(on loop: EventLoop, path: String) throws {
        _ = try UnixListener(path: path, on: loop) { connection in
            let server = EchoHandler()
            connection.start(server)
        }
    }

    @Test("many concurrent connections each get back their own data")
    func manyEchoes() throws {
        let path = directory.entry("it.sock")
        var clients: [Recorder] = []
        try onLoop { loop in
            try echo(on: loop, path: path)
            for number in 0..<300 {
                let client = Recorder()
                let connection = try Connection.connect(path: path, on: loop)
                client.onClose = { if clients.allSatisfy({ $0.closes == 1 }) { loop.stop() } }
                connection.start(client)
                connection.write(Array("client \(number)".utf8))
                connection.shutdownWriting()
                clients.append(client)
            }
        }
        for (number, client) in clients.enumerated() {
            #expect(client.text == "client \(number)")
            #expect(client.ends == 1)
            #expect(client.closes == 1)
            #expect(client.closeError == nil)
        }
    }

    @Test("megabytes arrive complete and in order")
    func bigEcho() throws {
        let path = directory.entry("it.sock")
        let sent = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 12) }
        let client = Recorder()
        try onLoop { loop in
            try echo(on: loop, path: path)
            let connection = try Connection.connect(path: path, on: loop)
            client.onClose = { loop.stop() }
            connection.start(client)
            connection.write(sent)
            connection.shutdownWriting()
            #expect(!connection.isWritable)
        }
        #expect(client.received == sent)
    }

    @Test("output of one turn is sent in one write")
    func writesAreCoalesced() throws {
        let client = Recorder()
        try onLoop { loop in
            let (forLoop, raw) = try RawSocket.pair()
            let connection = try Connection(fileDescriptor: forLoop, on: loop)
            client.onDrain = { _ in
                #expect(raw.read() == Array(String(repeating: "line\n", count: 1000).utf8))
                loop.stop()
            }
            connection.start(client)
            for _ in 0..<1000 { connection.write(Array("line\n".utf8)) }
            #expect(connection.outputBytes == 5000)
            #expect(raw.read() == nil)
        }
        #expect(client.drains == 1)
    }

    @Test("64 zero bytes follow the bytes that were read, even after longer reads")
    func padding() throws {
        final class Checker: ConnectionHandler {
            var read = 0
            var onFirst: () -> Void = {}
            func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
                if read == 0 { onFirst() }
                read += bytes.count
                let behind = UnsafeRawBufferPointer(start: bytes.baseAddress! + bytes.count, count: ReadBuffer.padding)
                #expect(behind.allSatisfy { $0 == 0 })
            }
            func connectionDidReachEnd(_ connection: Connection) { connection.close() }
            func connectionDidClose(_ connection: Connection, error: TransportError?) { connection.loop.stop() }
        }
        let checker = Checker()
        try onLoop { loop in
            let (forLoop, raw) = try RawSocket.pair()
            raw.send(String(repeating: "x", count: 1000))
            checker.onFirst = {
                raw.send("y")
                raw.close()
            }
            try Connection(fileDescriptor: forLoop, on: loop).start(checker)
        }
        #expect(checker.read == 1001)
    }

    @Test("P2, X1: the peer's process, user and groups are known")
    func credentials() throws {
        let path = directory.entry("it.sock")
        var seen: [PeerCredentials] = []
        try onLoop { loop in
            _ = try UnixListener(path: path, on: loop) { connection in
                seen.append(connection.peer)
                loop.stop()
            }
            seen.append(try Connection.connect(path: path, on: loop).peer)
        }
        var groups = [gid_t](repeating: 0, count: 65_536)
        let count = getgroups(Int32(groups.count), &groups)
        #expect(seen.count == 2)
        for peer in seen {
            #expect(peer.pid == getpid())
            #expect(peer.uid == geteuid())
            #expect(peer.gid == getegid())
            #expect(Set(peer.groups) == Set(groups[..<Int(count)]))
        }
    }

    @Test("connecting to a missing listener fails at once")
    func noListener() throws {
        try onLoop { loop in
            let error = #expect(throws: TransportError.self) {
                try Connection.connect(path: directory.entry("none.sock"), on: loop)
            }
            #expect(error?.hasNoListener == true)
            loop.stop()
        }
    }

    @Test("a descriptor that is not a Unix socket is refused")
    func notASocket() throws {
        try onLoop { loop in
            let file = open("/dev/null", O_RDONLY)
            #expect(throws: TransportError.self) { try Connection(fileDescriptor: file, on: loop) }
            #expect(throws: TransportError.self) { try Connection(fileDescriptor: 1_000_000, on: loop) }
            loop.stop()
        }
    }
}

/// Writes back what it reads, and stops reading while too much output is unsent.
final class EchoHandler: ConnectionHandler {
    static let mostOutput = 64 * 1024

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        connection.write(bytes)
        if connection.outputBytes > Self.mostOutput { connection.pauseReading() }
    }

    func connectionDidDrain(_ connection: Connection) {
        connection.resumeReading()
    }

    func connectionDidReachEnd(_ connection: Connection) {
        connection.closeAfterFlush()
    }

    func connectionDidClose(_ connection: Connection, error: TransportError?) {}
}
