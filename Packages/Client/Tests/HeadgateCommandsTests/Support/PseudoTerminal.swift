import Foundation

/// A terminal whose other end is a test.
final class PseudoTerminal: Sendable {
    /// The test's descriptor.
    private let master: Int32
    /// The program's descriptor.
    let slave: Int32

    // The requests TIOCSPTLCK and TIOCGPTN, which Swift cannot import.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    init(rows: UInt16, columns: UInt16) throws {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var unlocked: Int32 = 0
        var number: UInt32 = 0
        guard master >= 0, ioctl(master, PseudoTerminal.setLock, &unlocked) == 0,
            ioctl(master, PseudoTerminal.getNumber, &number) == 0
        else { throw POSIXError(.ENXIO) }
        slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw POSIXError(.ENXIO) }
        resize(rows: rows, columns: columns)
    }

    deinit {
        close(slave)
        close(master)
    }

    /// The terminal's local modes: canonical with echo, or key by key.
    var localModes: tcflag_t {
        var settings = termios()
        tcgetattr(slave, &settings)
        return settings.c_lflag
    }

    /// True if a read blocks.
    var isBlocking: Bool { fcntl(slave, F_GETFL) & O_NONBLOCK == 0 }

    func resize(rows: UInt16, columns: UInt16) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    func press(_ key: String) {
        _ = key.withCString { write(master, $0, strlen($0)) }
    }

    /// Reads until the output since the last call contains a text. It blocks the thread.
    func read(until expected: String) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            // A text that never comes must end the test, not hang it.
            var ready = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 60_000) > 0 else { return String(decoding: bytes, as: UTF8.self) }
            let count = Foundation.read(master, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer.prefix(count)
            let text = String(decoding: bytes, as: UTF8.self)
            if text.contains(expected) { return text }
        }
    }
}
