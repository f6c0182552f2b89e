import Glibc

/// A report of the history during which the program crashed.
enum Crashes {
    /// The seed of the current history. It is written by the only thread, and read in its signal handlers.
    nonisolated(unsafe) static var seed: UInt64 = 0 {
        didSet { watch }
    }

    private static let watch: Void = {
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGABRT, SIGBUS] {
            signal(number) { number in
                // A signal handler must not allocate, so the digits are written in place.
                var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
                withUnsafeMutableBytes(of: &digits) { buffer in
                    var (rest, index) = (Crashes.seed, buffer.count)
                    repeat {
                        index -= 1
                        buffer[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                        rest /= 10
                    } while rest > 0 && index > 0
                    _ = write(STDOUT_FILENO, "HEADGATE_SEED=", 14)
                    _ = write(STDOUT_FILENO, buffer.baseAddress! + index, buffer.count - index)
                    _ = write(STDOUT_FILENO, ": the program dies\n", 19)
                }
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }()
}
