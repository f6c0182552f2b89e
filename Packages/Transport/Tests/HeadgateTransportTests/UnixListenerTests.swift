import CUV
import Foundation
import Testing

@testable import HeadgateTransport

@Suite struct UnixListenerTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("X1: the socket has mode 0660, and a created directory 0750, whatever the umask")
    func modes() throws {
        let path = directory.entry("run/headgate/it.sock")
        try onLoop { loop in
            _ = try UnixListener(path: path, on: loop) { _ in }
            #expect(mode(of: path) == 0o660)
            #expect(mode(of: directory.entry("run/headgate")) == 0o750)
            #expect(mode(of: directory.entry("run")) == 0o750)
            loop.stop()
        }
    }

    @Test("a path that is too long for a socket is refused, and the longest possible is accepted")
    func pathLength() throws {
        let room = UnixAddress.longestPath - directory.path.utf8.count - 1
        try onLoop { loop in
            let longest = directory.entry(String(repeating: "s", count: room))
            _ = try UnixListener(path: longest, on: loop) { _ in }
            #expect(mode(of: longest) != nil)
            #expect(throws: TransportError.pathTooLong(path: longest + "s")) {
                try UnixListener(path: longest + "s", on: loop) { _ in }
            }
            #expect(throws: TransportError.pathTooLong(path: longest + "s")) {
                try Connection.connect(path: longest + "s", on: loop)
            }
            loop.stop()
        }
    }

    @Test("an empty path and one with a NUL byte are refused", arguments: ["", "/tmp/a\0b"])
    func invalidPath(path: String) throws {
        try onLoop { loop in
            #expect(throws: TransportError.invalidPath(path: path)) { try UnixListener(path: path, on: loop) { _ in } }
            loop.stop()
        }
    }

    @Test("a left-over socket file without a listener is replaced")
    func leftOverIsReplaced() throws {
        let path = directory.entry("it.sock")
        try leaveSocket(at: path)
        try onLoop { loop in
            _ = try UnixListener(path: path, on: loop) { connection in
                connection.close()
                loop.stop()
            }
            _ = try Connection.connect(path: path, on: loop)
        }
    }

    @Test("a socket with a listener is refused, and left unchanged")
    func answeredIsRefused() throws {
        let path = directory.entry("it.sock")
        try onLoop { loop in
            let first = try UnixListener(path: path, on: loop) { _ in }
            #expect(throws: TransportError.inUse(path: path)) { try UnixListener(path: path, on: loop) { _ in } }
            #expect(mode(of: path) == 0o660)
            #expect(first.isOpen)
            loop.stop()
        }
    }

    @Test("a file that is not a socket is refused, and left unchanged")
    func fileIsRefused() throws {
        let path = directory.entry("precious")
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
        try onLoop { loop in
            #expect(throws: TransportError.notASocket(path: path)) { try UnixListener(path: path, on: loop) { _ in } }
            loop.stop()
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @Test("a directory that cannot be created is named, with what to do")
    func noDirectory() throws {
        try onLoop { loop in
            let fault = #expect(throws: TransportError.self) {
                try UnixListener(path: "/proc/headgate/it.sock", on: loop) { _ in }
            }
            #expect(fault == .noDirectory(path: "/proc/headgate", code: -ENOENT))
            #expect(fault?.description.contains("choose another path for the socket") == true)
            loop.stop()
        }
    }

    @Test("X8: a symbolic link in place of the lock or of the socket is not followed", arguments: [".lock", ""])
    func link(suffix: String) throws {
        let (path, target) = (directory.entry("it.sock"), directory.entry("target"))
        try "mine".write(toFile: target, atomically: true, encoding: .utf8)
        symlink(target, path + suffix)
        try onLoop { loop in
            #expect(throws: TransportError.self) { try UnixListener(path: path, on: loop) { _ in } }
            #expect((try? String(contentsOfFile: target, encoding: .utf8)) == "mine")
            loop.stop()
        }
    }

    @Test("the file is removed with the listener, and with the loop")
    func fileIsRemoved() throws {
        let closed = directory.entry("closed.sock")
        let open = directory.entry("open.sock")
        try onLoop { loop in
            let listener = try UnixListener(path: closed, on: loop) { _ in }
            _ = try UnixListener(path: open, on: loop) { _ in }
            listener.close()
            listener.close()
            #expect(!listener.isOpen)
            loop.stop()
        }
        #expect(mode(of: closed) == nil)
        #expect(mode(of: open) == nil)
    }

    @Test("another listener's file with the same name stays")
    func foreignFileStays() throws {
        let path = directory.entry("it.sock")
        try onLoop { loop in
            let listener = try UnixListener(path: path, on: loop) { _ in }
            try FileManager.default.moveItem(atPath: path, toPath: directory.entry("moved.sock"))
            try leaveSocket(at: path)
            listener.close()
            loop.stop()
        }
        #expect(mode(of: path) != nil)
    }

    @Test("of many listeners that start at once on a left-over socket, one gets it")
    func startAtOnce() async throws {
        let path = directory.entry("it.sock")
        try leaveSocket(at: path)
        let outcomes = await withTaskGroup(of: TransportError?.self) { group in
            for _ in 0..<16 { group.addTask { Self.listenForGood(on: path) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 == nil }.count == 1)
        #expect(outcomes.filter { $0 == .inUse(path: path) }.count == 15)
    }

    @Test("an inherited listening descriptor is used, and its file stays")
    func inherited() throws {
        let path = directory.entry("it.sock")
        let number = try leaveSocket(at: path, listening: true)
        try onLoop { loop in
            let listener = try UnixListener(fileDescriptor: number, on: loop) { _ in loop.stop() }
            #expect(listener.path == nil)
            _ = try Connection.connect(path: path, on: loop)
        }
        #expect(mode(of: path) != nil)
    }

    @Test("a descriptor that does not listen is refused")
    func inheritedIsChecked() throws {
        try onLoop { loop in
            let (forLoop, _) = try RawSocket.pair()
            let file = open("/dev/null", O_RDONLY)
            for number in [forLoop, file, 1_000_000] {
                #expect(throws: TransportError.notListening(fileDescriptor: number)) {
                    try UnixListener(fileDescriptor: number, on: loop) { _ in }
                }
            }
            loop.stop()
        }
    }

    @Test("X3: without free descriptors connections wait and are accepted later, with one report and without spinning")
    func outOfDescriptors() throws {
        let path = directory.entry("it.sock")
        var attempts = 0
        var errors: [TransportError] = []
        try onLoop { loop in
            let socket = try ListeningSocket(at: UnixAddress(path: path), backlog: 8)
            func accept(_ number: Int32) -> Int32 {
                attempts += 1
                guard attempts <= 2 else { return cuv_accept(number) }
                errno = EMFILE
                return -1
            }
            let listener = try UnixListener(socket, on: loop, accept: accept) { _ in loop.stop() }
            listener.onError = { errors.append($0) }
            _ = try Connection.connect(path: path, on: loop)
        }
        #expect(errors == [.system(operation: "accept", code: -EMFILE, path: path)])
        #expect(attempts <= 4)
    }

    @Test("errors have readable messages")
    func words() {
        let refused = TransportError.system(operation: "connect", code: -ECONNREFUSED, path: "/run/it.sock")
        #expect(refused.description == "/run/it.sock: connect: connection refused")
        #expect(refused.hasNoListener)
        #expect(TransportError.inUse(path: "/run/it.sock").description.contains("another process"))
        #expect(!TransportError.loopClosed.hasNoListener)
    }

    /// Leaves a socket file behind. With `listening`, it returns the socket's open descriptor.
    @discardableResult
    private func leaveSocket(at path: String, listening: Bool = false) throws -> Int32 {
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try #require(try UnixAddress(path: path).withSystemAddress { bind(number, $0, $1) } == 0)
        guard listening else {
            close(number)
            return -1
        }
        try #require(listen(number, 8) == 0)
        return number
    }

    /// Listens until the test process ends.
    private static func listenForGood(on path: String) -> TransportError? {
        do throws(TransportError) {
            let socket = try ListeningSocket(at: UnixAddress(path: path), backlog: 8)
            #expect(dup(socket.descriptor.number) >= 0)
            return nil
        } catch {
            return error
        }
    }
}

@Suite struct SocketActivationTests {
    @Test("LISTEN_FDS names the descriptors from 3 on, if it is for this process")
    func descriptors() {
        func descriptors(_ environment: [String: String]) -> [Int32] {
            SocketActivation.descriptors(for: 42) { environment[$0] }
        }
        #expect(descriptors(["LISTEN_PID": "42", "LISTEN_FDS": "2"]) == [3, 4])
        #expect(descriptors(["LISTEN_PID": "43", "LISTEN_FDS": "2"]) == [])
        #expect(descriptors(["LISTEN_FDS": "2"]) == [])
        #expect(descriptors([:]) == [])
        for count in ["0", "-1", "x", "2147483647", "99999999999"] {
            #expect(descriptors(["LISTEN_PID": "42", "LISTEN_FDS": count]) == [])
        }
    }
}
