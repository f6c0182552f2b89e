import Glibc

/// The complete lines at the start of some bytes of a file. A pure value.
struct FollowedLines: Equatable {
    struct Line: Equatable {
        /// The index of the line's first byte in the bytes.
        let start: Int
        /// The index after the line's end.
        let end: Int
        /// The line without its end.
        let bytes: [UInt8]
    }

    /// The lines that are not blank.
    private(set) var lines: [Line] = []
    /// The number of bytes up to the end of the last complete line, with blank lines and NUL bytes.
    private(set) var length = 0

    /// The most lines that are taken at once.
    static let most = 4_096

    /// The byte order mark that some programs write at the start of a file.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Cuts bytes into lines.
    /// - Parameters:
    ///   - isFirst: true if the bytes are the start of the file, where a byte order mark is skipped.
    ///   - isLast: true if no bytes follow, so that the last line needs no end.
    init(_ bytes: [UInt8], isFirst: Bool = false, isLast: Bool = false) {
        length = isFirst && bytes.starts(with: Self.mark) ? Self.mark.count : 0
        while lines.count < Self.most, let end = bytes.lineFeed(from: length) {
            add(bytes[length..<end], end: end + 1)
        }
        guard lines.count < Self.most else { return }
        // A writer that does not append leaves NUL bytes before its next line after the file was truncated.
        length = bytes[length...].firstIndex { $0 != 0 } ?? bytes.count
        if isLast, length < bytes.count { add(bytes[length...], end: bytes.count) }
    }

    private mutating func add(_ line: ArraySlice<UInt8>, end: Int) {
        length = end
        let text = line.drop { $0 == 0 }
        guard !text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { return }
        lines.append(Line(start: text.startIndex, end: end, bytes: Array(text)))
    }
}

extension [UInt8] {
    /// Returns the index of the first line feed from an index on. It uses `memchr`, because a line may have megabytes.
    func lineFeed(from start: Int) -> Int? {
        withUnsafeBytes { bytes -> Int? in
            guard start < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
            else { return nil }
            return base.distance(to: UnsafeRawPointer(found))
        }
    }
}
