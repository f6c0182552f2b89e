import Foundation

/// A pseudoterminal, whose output the test reads.
final class PseudoTerminal {
    /// The path of the program's end.
    let path: String
    private let master: Int32
    /// The program's end, kept open so that the terminal outlives the program.
    private let slave: Int32
    private var bytes: [UInt8] = []

    // TIOCSPTLCK and TIOCGPTN, which Swift cannot import.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    init() throws {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        var unlocked: Int32 = 0
        var number: UInt32 = 0
        guard master >= 0, ioctl(master, PseudoTerminal.setLock, &unlocked) == 0,
            ioctl(master, PseudoTerminal.getNumber, &number) == 0
        else { throw SystemError("a pseudo terminal") }
        path = "/dev/pts/\(number)"
        slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw SystemError("open \(path)") }
        var size = winsize(ws_row: 30, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    deinit {
        close(slave)
        close(master)
    }

    /// The output so far.
    var text: String {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(master, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer.prefix(count)
        }
    }
}
