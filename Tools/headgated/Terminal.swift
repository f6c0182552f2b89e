import Glibc

/// What the program writes for people.
enum Terminal {
    static func print(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    static func error(_ text: String) {
        write(text, to: STDERR_FILENO)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let line = Array("\(text)\n".utf8)
        _ = Glibc.write(descriptor, line, line.count)
    }
}
