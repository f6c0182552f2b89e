import HeadgateData

/// A key of the operator (Behaviour C2). Its number says which key a file needs.
public struct EncryptionKey: Equatable, Sendable {
    public let number: UInt16
    let bytes: [UInt8]
    /// A check value of the key, which distinguishes a wrong key with the right number from damage. It reveals nothing
    /// of the key.
    let check: UInt32

    /// The bytes of a key.
    static let size = 32

    /// - Parameter bytes: 32 bytes.
    public init(number: UInt16, bytes: [UInt8]) {
        (self.number, self.bytes) = (number, bytes)
        let check = Derivation.derive(4, from: bytes, salt: [], info: Array("headgate key check".utf8))
        self.check = check.reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// The keys of a key file, which is a text: a line for each key, with its number and its 32 bytes in hexadecimal digits.
/// The first key encrypts. Empty lines, and lines that begin with `#`, are skipped.
public struct EncryptionKeys: Equatable, Sendable {
    let all: [EncryptionKey]

    /// The reason why a text has no keys. It names the line, and never its content.
    public struct Fault: Error, Equatable {
        public var message: String
    }

    public init(_ text: String) throws(Fault) {
        var keys: [EncryptionKey] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split { $0.isWhitespace }
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 2, let number = UInt16(first), number > 0, let bytes = Hexadecimal.bytes(words[1]),
                bytes.count == EncryptionKey.size
            else {
                throw Fault(
                    message:
                        "line \(index + 1) is not a key: expected a number from 1 to 65535 and 64 hexadecimal digits")
            }
            guard !keys.contains(where: { $0.number == number }) else {
                throw Fault(message: "line \(index + 1) has the number \(number) of an earlier key")
            }
            keys.append(EncryptionKey(number: number, bytes: bytes))
        }
        guard !keys.isEmpty else { throw Fault(message: "there is no key") }
        all = keys
    }

    public init(_ all: [EncryptionKey]) { self.all = all }

    /// The numbers of the keys; the first encrypts.
    public var numbers: [Int] { all.map { Int($0.number) } }
}
