import Glibc

/// The terminal on which a screen is shown.
struct ScreenPlace: Sendable {
    /// Where keys are read from; nil where there are none.
    let keys: Int32?
    /// Where it is shown.
    let output: Int32

    /// How much there is room for.
    struct Size: Equatable {
        var rows: Int
        var columns: Int
    }

    /// The process's own terminal; nil when its output goes elsewhere, or the terminal can only write line after line.
    static var standard: ScreenPlace? {
        guard isatty(STDOUT_FILENO) == 1, let kind = getenv("TERM").map({ String(cString: $0) }),
            !kind.isEmpty, kind != "dumb"
        else { return nil }
        return ScreenPlace(keys: isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : nil, output: STDOUT_FILENO)
    }

    /// Its size now; the classic one where the terminal does not know.
    var size: Size {
        var size = winsize()
        guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return Size(rows: 24, columns: 80)
        }
        return Size(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }
}
