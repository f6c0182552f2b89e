/// The beginning of an answer's body as text for people, decompressed if the server compressed it (Behaviour D10).
struct AnswerText {
    /// The header that names the compression of a body.
    static let codingHeader = "Content-Encoding"

    /// Returns true if a line of the head is the header `Content-Encoding`.
    static func isCodingHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        let name = Array("content-encoding:".utf8)
        return line.count > name.count && zip(line, name).allSatisfy { $0 == $1 || $0 | 0x20 == $1 }
    }

    /// The beginning of the body, as far as it was kept.
    private var bytes: [UInt8]
    /// True if the body goes on after the kept bytes.
    private var isCut: Bool
    /// The compression that the server named.
    private let coding: String

    /// Decompresses the beginning of an answer's body.
    /// - Parameters:
    ///   - isCut: true if the body is longer than its kept part.
    ///   - mostBytes: the most bytes of the decompressed text.
    ///   - message: returns the part of the body that people can read.
    init(_ answer: HTTPAnswer, isCut: Bool, mostBytes: Int, message: ([UInt8]) -> [UInt8] = { $0 }) {
        coding = answer.headers[AnswerText.codingHeader] ?? ""
        let plain = AnswerText.decompressed(answer.body, coding, mostBytes)
        bytes = message(plain ?? answer.body)
        self.isCut = isCut || plain?.count == mostBytes
    }

    /// Returns the beginning of an answer's body, decompressed if the server compressed it.
    /// - Parameter mostBytes: the most bytes of a decompressed body.
    static func plain(_ answer: HTTPAnswer, mostBytes: Int) -> [UInt8] {
        guard mostBytes > 0 else { return [] }
        return decompressed(answer.body, answer.headers[codingHeader] ?? "", mostBytes) ?? answer.body
    }

    /// Returns the first `limit` bytes with secrets hidden, or a note that the body is no text. Returns nil if the body
    /// is empty.
    func excerpt(_ mask: SecretMask, limit: Int) -> String? {
        guard !bytes.isEmpty else { return nil }
        guard bytes.allSatisfy(AnswerText.isOfText) else {
            let name = String(decoding: coding.utf8.filter { 0x20..<0x7F ~= $0 }.prefix(40), as: UTF8.self)
            return name.isEmpty ? "(not text)" : "(not text; Content-Encoding: \(name))"
        }
        return mask.excerpt(of: bytes, isCut: isCut, limit: limit)
    }

    /// Returns the beginning of a decompressed body, or nil if it is not compressed or the compression is unknown.
    private static func decompressed(_ body: [UInt8], _ coding: String, _ most: Int) -> [UInt8]? {
        switch coding.lowercased() {
        case "gzip", "x-gzip": Gzip.beginning(of: body, most: most)
        // RFC 9110 defines `deflate` as the zlib format, but some servers send a deflate stream without zlib's header.
        case "deflate": Gzip.beginning(of: body, most: most) ?? Gzip.beginning(of: body, most: most, isBare: true)
        case "zstd": Zstandard.beginning(of: body, most: most)
        default: nil
        }
    }

    /// Returns false for control characters other than tabs, line ends and form feeds, which no text has.
    private static func isOfText(_ byte: UInt8) -> Bool {
        byte >= 0x20 ? byte != 0x7F : [0x09, 0x0A, 0x0C, 0x0D].contains(byte)
    }
}
