import Glibc
import HeadgateTransport

/// Cuts input into lines and counts them, including blank ones, so that people find a line by its number.
struct InputLines {
    /// A line of the input.
    struct Line: Equatable {
        /// The line's number, counted from 1.
        let number: Int
        /// The line without its end, or nil if it is too long.
        let bytes: [UInt8]?
    }

    private let longest: Int
    private let dropsUnendedLine: Bool
    private var bytes: [UInt8] = []
    private var start = 0
    /// The index up to which there is no LF.
    private var searched = 0
    private var number = 0
    private var skips = false
    private(set) var isAtEnd = false

    /// - Parameters:
    ///   - longest: the most bytes of a line.
    ///   - dropsUnendedLine: true if a last line without its end is no line.
    init(longest: Int = 16 << 20, dropsUnendedLine: Bool = false) {
        self.longest = longest
        self.dropsUnendedLine = dropsUnendedLine
    }

    /// Adds bytes of the input. An empty array marks the end.
    mutating func append(_ read: [UInt8]) {
        guard !read.isEmpty else {
            isAtEnd = true
            return
        }
        bytes.removeFirst(start)
        searched -= start
        start = 0
        bytes += read
    }

    /// Returns the next line that is not blank, or nil if no complete line is left.
    mutating func next() -> Line? {
        while let line = nextLine() {
            guard let bytes = line.bytes else { return line }
            if !bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return line }
        }
        return nil
    }

    private mutating func nextLine() -> Line? {
        guard let lineFeed = bytes[searched...].firstIndex(of: 0x0A) else { return unendedLine() }
        defer {
            start = lineFeed + 1
            searched = start
        }
        return take(bytes[start..<lineFeed])
    }

    private mutating func unendedLine() -> Line? {
        searched = bytes.count
        if isAtEnd {
            guard !dropsUnendedLine, start < bytes.count || skips else { return nil }
            defer { start = bytes.count }
            return take(bytes[start...])
        }
        if bytes.count - start > longest {
            skips = true
            start = bytes.count
        }
        return nil
    }

    private mutating func take(_ line: ArraySlice<UInt8>) -> Line {
        number += 1
        defer { skips = false }
        guard !skips, line.count <= longest else { return Line(number: number, bytes: nil) }
        // Some programs write a byte order mark at the start of a file.
        let hasMark = number == 1 && line.starts(with: [0xEF, 0xBB, 0xBF])
        return Line(number: number, bytes: Array(hasMark ? line.dropFirst(3) : line))
    }
}

/// Reads a descriptor on a thread of its own, because a read may block for long.
final class InputReader: Sendable {
    /// The reason why a read failed.
    struct Failure: Error, CustomStringConvertible {
        let code: Int32

        var description: String { "cannot read standard input: \(String(cString: strerror(code)))" }
    }

    private let descriptor: Int32
    private let thread: EventLoop

    init(_ descriptor: Int32) throws(TransportError) {
        self.descriptor = descriptor
        thread = try EventLoop.onNewThread(named: "headgate-input")
    }

    deinit {
        thread.stop()
    }

    /// Reads the next bytes, or none at the end. Calls `completion` on the reader's thread.
    func read(_ completion: @escaping @Sendable (Result<[UInt8], Failure>) -> Void) {
        thread.submit { [descriptor] in completion(InputReader.read(descriptor)) }
    }

    private static func read(_ descriptor: Int32) -> Result<[UInt8], Failure> {
        while true {
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
                let size = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                failure = size < 0 ? errno : 0
                count = max(0, size)
            }
            switch failure {
            case 0: return .success(bytes)
            case EINTR: continue
            case EAGAIN: waitUntilReadable(descriptor)
            default: return .failure(Failure(code: failure))
            }
        }
    }

    /// Waits until the descriptor is readable. A process that shares it may have made it non-blocking.
    private static func waitUntilReadable(_ descriptor: Int32) {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&state, 1, -1)
    }
}
