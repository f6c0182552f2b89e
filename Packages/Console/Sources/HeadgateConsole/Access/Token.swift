import Glibc

/// The secret that opens the console's pages.
struct Token: Equatable, Sendable {
    /// The token's text. It appears in URLs and headers, so it is printable ASCII without spaces and without
    /// characters that end a header's value.
    let text: String

    /// Makes a token of a text. Returns nil if the text is empty or has characters that a cookie cannot have.
    init?(_ text: String) {
        let fits = text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !Self.endsCookie.contains($0) }
        guard !text.isEmpty, fits else { return nil }
        self.text = text
    }

    /// Returns a new token of 256 random bits from the system.
    static func fresh() -> Token {
        var generator = SystemRandomNumberGenerator()
        let words = (0..<4).map { _ in generator.next() as UInt64 }
        return Token(unchecked: words.map { Self.hexadecimal($0) }.joined())
    }

    private init(unchecked text: String) {
        self.text = text
    }

    private static func hexadecimal(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static let endsCookie = Set(#"",;\"#.utf8)

    /// Returns true if the offered text is the token. The duration depends only on the length of the offered text.
    func matches(_ offer: String) -> Bool {
        let own = Array(text.utf8)
        var difference = own.count ^ offer.utf8.count
        for (index, byte) in offer.utf8.enumerated() { difference |= Int(own[index % own.count] ^ byte) }
        return difference == 0
    }
}

/// The file that stores the token.
struct TokenFile: Sendable {
    let path: String

    /// The reason why there is no token, as a text for people.
    struct Fault: Error, CustomStringConvertible {
        let message: String
        var description: String { message }
    }

    /// Reads the token. If the file is missing, makes a token and the file, with mode 0600.
    func token() throws(Fault) -> Token { try token(isMade: true) }

    /// - Parameter isMade: true if a missing file is made.
    private func token(isMade: Bool) throws(Fault) -> Token {
        // Non-blocking, because a named pipe without a writer would hold up the start for ever.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            guard errno == ENOENT, isMade else { throw failure("open") }
            return try made()
        }
        defer { close(descriptor) }
        try check(descriptor)
        var bytes = [UInt8](repeating: 0, count: Self.longest + 1)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw failure("read") }
        let words = String(decoding: bytes.prefix(count), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard count <= Self.longest, words.count == 1, let token = Token(String(words[0])) else {
            throw Fault(message: "\(path) has no valid token: it must be one word of printable ASCII")
        }
        return token
    }

    /// Refuses a file from which other users can learn the token, or in which they can replace it (Behaviour X8).
    private func check(_ descriptor: Int32) throws(Fault) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("stat") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw Fault(message: "\(path) is not a regular file") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw Fault(message: "\(path) belongs to another user, who can replace the token")
        }
        // Root may let a group read a token, as service managers do.
        let allowed: mode_t = status.st_uid == 0 ? 0o740 : 0o700
        guard status.st_mode & 0o777 & ~allowed == 0 else {
            throw Fault(message: "\(path) can be read or changed by other users: chmod 600 \(path)")
        }
    }

    /// Makes the file with a new token. Another process never sees an incomplete file, and an existing file is not
    /// replaced.
    private func made() throws(Fault) -> Token {
        let token = Token.fresh()
        let draft = "\(path).\(getpid())"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("create") }
        defer { unlink(draft) }
        let bytes = Array("\(token.text)\n".utf8)
        let isWhole = write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        guard close(descriptor) == 0, isWhole else { throw failure("write") }
        guard link(draft, path) == 0 else {
            guard errno == EEXIST else { throw failure("link") }
            // Another process has made the file meanwhile, or the path is a symbolic link without a target.
            return try self.token(isMade: false)
        }
        return token
    }

    private func failure(_ call: String) -> Fault {
        Fault(message: "\(path): \(call): \(String(cString: strerror(errno)))")
    }

    private static let longest = 4_096
}
