import Glibc

/// Tells which history the program itself died in.
enum Crashes {
    /// The history under way. Written by the one thread that there is, and read in its signal handlers.
    nonisolated(unsafe) static var seed: UInt64 = 0 {
        didSet { watch }
    }

    private static let watch: Void = {
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGABRT, SIGBUS] {
            signal(number) { number in
                // In a handler nothing may be allocated: the digits are put where they are written from.
                var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
                withUnsafeMutableBytes(of: &digits) { buffer in
                    var (rest, place) = (Crashes.seed, buffer.count)
                    repeat {
                        place -= 1
                        buffer[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                        rest /= 10
                    } while rest > 0 && place > 0
                    _ = write(STDOUT_FILENO, "HEADGATE_SEED=", 14)
                    _ = write(STDOUT_FILENO, buffer.baseAddress! + place, buffer.count - place)
                    _ = write(STDOUT_FILENO, ": the program dies\n", 19)
                }
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }()
}
